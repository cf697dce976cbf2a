/** Whose headers are believed about who asks: proxies in front of this server, and this server in front of extension servers. */
import type { X509Certificate } from 'node:crypto'
import { type RequestHeaderOptions, standardRequestHeaders } from '#apiserver/authn/request-header.ts'
import { anchorsOf, type CertificateAndKey, certificatesIn, type ServerKeys } from '#apiserver/pki/server-keys.ts'
import type { Files } from '#base/files.ts'

/** The flags of upstream's API server under their own names. Empty texts are flags not given. */
export type FrontProxySettings = {
  requestheaderClientCaFile: string
  requestheaderAllowedNames: readonly string[]
  requestheaderUsernameHeaders: readonly string[]
  requestheaderUidHeaders: readonly string[]
  requestheaderGroupHeaders: readonly string[]
  requestheaderExtraHeadersPrefix: readonly string[]
  proxyClientCertFile: string
  proxyClientKeyFile: string
}

/** How upstream's clusters are set up. */
export const standardFrontProxy: FrontProxySettings = {
  requestheaderClientCaFile: '',
  requestheaderAllowedNames: ['front-proxy-client'],
  requestheaderUsernameHeaders: standardRequestHeaders.usernameHeaders,
  requestheaderUidHeaders: standardRequestHeaders.uidHeaders,
  requestheaderGroupHeaders: standardRequestHeaders.groupHeaders,
  requestheaderExtraHeadersPrefix: standardRequestHeaders.extraHeaderPrefixes,
  proxyClientCertFile: '',
  proxyClientKeyFile: '',
}

export type FrontProxy = Omit<RequestHeaderOptions, 'clock'> & {
  /** PEM, of the authority whose certificates proxies show. */
  authority(): string
  /** What this server shows to extension servers; undefined where it has nothing to show. */
  identity(): CertificateAndKey | undefined
}

/** The authority and the certificate are the cluster's own unless files are given. */
export async function openFrontProxy(settings: FrontProxySettings, keys: ServerKeys, files: Files): Promise<FrontProxy> {
  const { requestheaderClientCaFile: caFile, proxyClientCertFile: certFile, proxyClientKeyFile: keyFile } = settings
  if ((certFile === '') !== (keyFile === '')) throw new Error('--proxy-client-cert-file and --proxy-client-key-file must be given together')
  const given = caFile === '' ? undefined : await files.readText(caFile)
  const identity =
    certFile === '' ? undefined : { certificatePem: await files.readText(certFile), privateKeyPem: await files.readText(keyFile) }
  return {
    authority: () => given ?? keys.authority('front-proxy-ca').certificatePem,
    anchors: given === undefined ? anchorsOf(keys, 'front-proxy-ca') : givenAnchors(given, caFile),
    allowedNames: settings.requestheaderAllowedNames,
    usernameHeaders: settings.requestheaderUsernameHeaders,
    uidHeaders: settings.requestheaderUidHeaders,
    groupHeaders: settings.requestheaderGroupHeaders,
    extraHeaderPrefixes: settings.requestheaderExtraHeadersPrefix,
    identity: () => identity ?? keys.identity('front-proxy-client'),
  }
}

function givenAnchors(pem: string, file: string): () => readonly X509Certificate[] {
  const anchors = certificatesIn(pem)
  if (anchors.length === 0) throw new Error(`--requestheader-client-ca-file: there is no certificate in ${file}`)
  return () => anchors
}
