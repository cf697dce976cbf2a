/** From the address of an API server and a token to a cluster that may be believed. */

import { createHash, createHmac, timingSafeEqual, X509Certificate } from 'node:crypto'
import { jsYaml } from '#api/codec/js-yaml.ts'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { type HttpClientOptions, nodeHttpClient } from '#base/http-client.ts'
import { Client } from '#client/client.ts'
import { httpTransport } from '#client/http-transport.ts'

const signingMs = 20_000
const lookEveryMs = 500

export type Discovered = { server: string; authorityPem: string }

/**
 * Reads the config map `cluster-info`, believes it if the token has signed it and its authority has one of the hashes, and then asks
 * again over a connection that this authority vouches for.
 */
export async function discoverCluster(server: string, token: string, hashes: readonly string[]): Promise<Discovered> {
  const [, id = '', secret = ''] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(token) ?? []
  if (id === '') throw new Error('--token: it is no bootstrap token such as abcdef.0123456789abcdef')
  const kubeconfig = await signedKubeconfig(server, id, secret)
  const authorityPem = await authorityIn(kubeconfig)
  if (hashes.length > 0 && !hashes.includes(publicKeyHash(authorityPem))) {
    throw new Error(`cluster CA found in cluster-info ConfigMap is invalid: its public key has the hash ${publicKeyHash(authorityPem)}`)
  }
  const again = await clusterInfo(server, { ca: authorityPem })
  if (again.data?.['kubeconfig'] !== kubeconfig) throw new Error('cluster-info is not the same over a verified connection')
  return { server, authorityPem }
}

/** A cluster that has just begun, or moved, signs a moment later what it says of itself. */
async function signedKubeconfig(server: string, id: string, secret: string): Promise<string> {
  const endMs = systemClock.monotonic() + signingMs
  for (;;) {
    const { data = {} } = await clusterInfo(server, { insecureSkipVerify: true })
    const kubeconfig = data['kubeconfig'] ?? ''
    const signature = data[`jws-kubeconfig-${id}`]
    if (signature !== undefined && isSignedBy(secret, kubeconfig, signature)) return kubeconfig
    if (systemClock.monotonic() > endMs) {
      throw new Error(
        signature === undefined
          ? `the cluster-info ConfigMap does not yet contain a JWS signature for token ID "${id}": the token has expired, or was never there`
          : `the signature of cluster-info is not that of token ${id}`,
      )
    }
    await systemClock.sleep(lookEveryMs)
  }
}

/** Nobody is to hand a machine to whoever answers. */
export function mustKnowHash({ discoveryHash, unsafeSkipHash }: { discoveryHash: readonly string[]; unsafeSkipHash: boolean }): void {
  if (discoveryHash.length === 0 && !unsafeSkipHash)
    throw new Error('--discovery-hash: how should the cluster be known? `typernetes token create --print-join-command` prints it')
}

/** As kubeadm has it: `sha256:` and the digest of the public key. */
export function publicKeyHash(certificatePem: string): string {
  const key = new X509Certificate(certificatePem).publicKey.export({ format: 'der', type: 'spki' })
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}

async function clusterInfo(server: string, connection: HttpClientOptions): Promise<V1ConfigMap> {
  using http = nodeHttpClient(connection)
  const client = new Client({ transport: httpTransport({ http, server, headers: {} }), userAgent: 'typernetes' })
  return await client.get(ConfigMap, 'kube-public', 'cluster-info')
}

/** RFC 7515, appendix F: the content is left out of the signature's text. */
function isSignedBy(secret: string, content: string, signature: string): boolean {
  const [header = '', , given = ''] = signature.split('.')
  const made = createHmac('sha256', secret)
    .update(`${header}.${Buffer.from(content).toString('base64url')}`)
    .digest()
  const bytes = Buffer.from(given, 'base64url')
  return bytes.length === made.length && timingSafeEqual(bytes, made)
}

async function authorityIn(kubeconfig: string): Promise<string> {
  const { load } = jsYaml()
  const parsed = load(kubeconfig) as { clusters?: { cluster?: { 'certificate-authority-data'?: string } }[] } | undefined
  const data = parsed?.clusters?.[0]?.cluster?.['certificate-authority-data']
  if (data === undefined) throw new Error('cluster-info names no certificate authority')
  return Buffer.from(data, 'base64').toString('utf8')
}
