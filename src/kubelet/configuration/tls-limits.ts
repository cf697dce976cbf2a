/** `tlsMinVersion` and `tlsCipherSuites`, by the names of Go, which every document of Kubernetes uses. */
import type { TlsLimits } from '#base/http-server.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

const versions: Readonly<Record<string, TlsLimits['minVersion']>> = {
  '': 'TLSv1.2',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
}

/** As OpenSSL calls them. Those of TLS 1.3 cannot be chosen from, with Go neither. */
const suites: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
}
const ofTls13: readonly string[] = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']

/** Throws where a name is none. */
export function tlsLimitsOf({
  tlsMinVersion,
  tlsCipherSuites,
}: Pick<KubeletConfiguration, 'tlsMinVersion' | 'tlsCipherSuites'>): TlsLimits {
  const minVersion = versions[tlsMinVersion]
  // Nobody should speak 1.0 and 1.1 any more, and nothing here does.
  if (minVersion === undefined) throw new Error(`unknown tls version "${tlsMinVersion}"; VersionTLS12 or VersionTLS13`)
  const ciphers = tlsCipherSuites
    .filter((name) => !ofTls13.includes(name))
    .map((name) => {
      const cipher = suites[name]
      if (cipher === undefined) throw new Error(`Cipher suite ${name} not supported or doesn't exist`)
      return cipher
    })
  return { minVersion, ...(ciphers.length > 0 && { ciphers: [...ofTls13, ...ciphers].join(':') }) }
}
