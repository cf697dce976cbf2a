/** The services around a cluster that has them: an OpenID issuer, webhooks for tokens, permissions and images. */
import { createServer } from 'node:https'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import { systemRandom } from '#base/random.ts'
import { textOf } from './webhook-server.ts'

type Review = { apiVersion: string; kind: string; spec: Record<string, unknown> }
type Answer = (spec: Record<string, unknown>) => object

export type OutsideServices = AsyncDisposable & {
  readonly url: string
  readonly issuer: string
  /** Whom their certificate comes from, as PEM. */
  readonly authority: string
  /** A kubeconfig for the webhook of that path. */
  kubeconfig(path: string): string
  /** An identity token; claims given replace the good ones. */
  identityToken(claims?: JWTPayload, signsWith?: 'known key' | 'other key'): Promise<string>
  /** Reviews that were sent, by path. */
  readonly asked: Map<string, Review[]>
}

/** `answers` makes the status of a review, by path. */
export async function startOutsideServices(answers: Record<string, Answer>): Promise<OutsideServices> {
  const now = Date.now()
  const { authority } = newAuthority('ca', now, systemRandom)
  const identity = {
    name: 'outside',
    signer: 'ca' as const,
    subject: { commonName: 'outside' },
    usages: ['serverAuth' as const],
    subjectAltNames: { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
  }
  const { certificatePem, privateKeyPem } = issueIdentity(identity, authority, now, systemRandom)
  const known = await generateKeyPair('RS256', { extractable: true })
  const other = await generateKeyPair('RS256', { extractable: true })
  const keys = { keys: [{ ...(await exportJWK(known.publicKey)), kid: 'known', alg: 'RS256', use: 'sig' }] }
  const asked = new Map<string, Review[]>()
  let url = ''
  const server = createServer({ cert: certificatePem, key: privateKeyPem }, async (request, response) => {
    const path = request.url ?? ''
    const reply = (value: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    if (path === '/.well-known/openid-configuration') return reply({ issuer: url, jwks_uri: `${url}/keys` })
    if (path === '/keys') return reply(keys)
    const text = await textOf(request)
    if (text === undefined) return
    const review = JSON.parse(text) as Review
    asked.set(path, [...(asked.get(path) ?? []), review])
    const answer = answers[path]
    if (answer === undefined) return response.writeHead(404).end()
    return reply({ ...review, status: answer(review.spec) })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `https://127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    url,
    issuer: url,
    authority: authority.certificatePem,
    asked,
    kubeconfig: (path) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'it',
            cluster: { server: `${url}${path}`, 'certificate-authority-data': Buffer.from(authority.certificatePem).toString('base64') },
          },
        ],
        users: [{ name: 'me', user: {} }],
        contexts: [{ name: 'it', context: { cluster: 'it', user: 'me' } }],
        'current-context': 'it',
      }),
    identityToken(claims = {}, signsWith = 'known key') {
      const seconds = Math.floor(Date.now() / 1000)
      const all = { iss: url, aud: 'typernetes', sub: 'ada', groups: ['readers'], iat: seconds, exp: seconds + 600, ...claims }
      const { privateKey } = signsWith === 'known key' ? known : other
      return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid: 'known' }).sign(privateKey)
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
