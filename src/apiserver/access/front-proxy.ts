/** Whose headers are believed about who asks: proxies in front of this server, and this server in front of extension servers. */
import { X509Certificate } from 'node:crypto'
import { type RequestHeaderOptions, standardRequestHeaders } from '#apiserver/authn/request-header.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
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
  /** What this server shows to extension servers. */
  identity(): { certificatePem: string; privateKeyPem: string }
}

/** The authority and the certificate are the cluster's own unless files are given. */
export async function openFrontProxy(settings: FrontProxySettings, keys: ClusterKeys, files: Files): Promise<FrontProxy> {
  const { requestheaderClientCaFile: caFile, proxyClientCertFile: certFile, proxyClientKeyFile: keyFile } = settings
  if ((certFile === '') !== (keyFile === '')) throw new Error('--proxy-client-cert-file and --proxy-client-key-file must be given together')
  const given = caFile === '' ? undefined : await files.readText(caFile)
  const identity =
    certFile === '' ? undefined : { certificatePem: await files.readText(certFile), privateKeyPem: await files.readText(keyFile) }
  return {
    authority: () => given ?? keys.authority('front-proxy-ca').certificatePem,
    anchors: given === undefined ? ownAnchors(keys) : givenAnchors(given, caFile),
    allowedNames: settings.requestheaderAllowedNames,
    usernameHeaders: settings.requestheaderUsernameHeaders,
    uidHeaders: settings.requestheaderUidHeaders,
    groupHeaders: settings.requestheaderGroupHeaders,
    extraHeaderPrefixes: settings.requestheaderExtraHeadersPrefix,
    identity: () => identity ?? keys.identity('front-proxy-client'),
  }
}

/** The same array for the same authority: what was verified against it is remembered by that. */
function ownAnchors(keys: ClusterKeys): () => readonly X509Certificate[] {
  let anchors = [keys.authority('front-proxy-ca').certificate]
  return () => {
    const { certificate } = keys.authority('front-proxy-ca')
    if (certificate !== anchors[0]) anchors = [certificate]
    return anchors
  }
}

function givenAnchors(pem: string, file: string): () => readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error(`--requestheader-client-ca-file: there is no certificate in ${file}`)
  const anchors = blocks.map((block) => new X509Certificate(block))
  return () => anchors
}
