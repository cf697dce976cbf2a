import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1beta1ClusterTrustBundle } from '#api/certificates/v1beta1/types.gen.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Client } from '#client/client.ts'
import type { Transport, TransportResponse } from '#client/transport.ts'
import { TrustBundles } from '#kubelet/volumes/trust-bundles.ts'

const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`

const aBundle = (name: string, signerName: string, labels: Record<string, string>, trustBundle: string): V1beta1ClusterTrustBundle =>
  ({ metadata: { name, uid: name, resourceVersion: '5', labels }, spec: { signerName, trustBundle } }) as V1beta1ClusterTrustBundle

const bundles = [
  aBundle('plain', '', {}, `# ours\n${pem('AAAA')}${pem('BBBB')}`),
  aBundle('s:one', 'x.example/s', { tier: 'a' }, pem('CCCC')),
  aBundle('s:two', 'x.example/s', { tier: 'b' }, pem('CCCC') + pem('DDDD')),
]

/** A server that has these bundles and answers lists only, or none of the kind at all. */
function trustBundles(isServed: boolean) {
  const clock = new VirtualClock()
  const answer = (status: number, body: object): TransportResponse => ({
    status,
    header: () => undefined,
    text: async () => JSON.stringify(body),
    chunks: async function* () {},
  })
  const transport: Transport = {
    async send({ target, signal }) {
      if (!isServed) return answer(404, { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, message: 'no such kind' })
      if (target.includes('sendInitialEvents')) return answer(400, { kind: 'Status', status: 'Failure', code: 400, message: 'lists only' })
      if (target.includes('watch=true')) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      return answer(200, { metadata: { resourceVersion: '9' }, items: bundles })
    },
  }
  const client = new Client({ transport, userAgent: 'kubelet' })
  const found = new TrustBundles({ client, clock, random: seededRandom(1), logger: silentLogger, onChange: () => {} })
  return { clock, found, [Symbol.dispose]: () => found.stop() }
}

const cases: [what: string, projection: Omit<Parameters<TrustBundles['anchors']>[0], 'path'>, anchors: string | Error][] = [
  ['by name', { name: 'plain' }, pem('AAAA') + pem('BBBB')],
  [
    'by a name there is not',
    { name: 'none' },
    new Error('while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found'),
  ],
  ['by a name there need not be', { name: 'none', optional: true }, ''],
  ['all of a signer, each once', { signerName: 'x.example/s', labelSelector: {} }, pem('CCCC') + pem('DDDD')],
  ['some of a signer', { signerName: 'x.example/s', labelSelector: { matchLabels: { tier: 'a' } } }, pem('CCCC')],
  [
    'a signer without a selector',
    { signerName: 'x.example/s' },
    new Error('combination of signerName and labelSelector matched zero ClusterTrustBundles'),
  ],
  ['a signer there need not be', { signerName: 'none', labelSelector: {}, optional: true }, ''],
  ['neither', {}, new Error('ClusterTrustBundle projection requires either name or signerName to be set')],
]

for (const [what, projection, anchors] of cases) {
  test(`certificates to trust, ${what}`, async () => {
    using parts = trustBundles(true)
    const asked = parts.found.anchors({ ...projection, path: 'ca.pem' })
    if (typeof anchors === 'string') assert.equal(await asked, anchors)
    else await assert.rejects(asked, { message: anchors.message })
  })
}

test('a server without the kind is not waited for', async () => {
  using parts = trustBundles(false)
  const asked = parts.found.anchors({ name: 'plain', path: 'ca.pem' })
  const refused = assert.rejects(asked, { message: 'ClusterTrustBundle informer has not yet synced' })
  await parts.clock.advance({ seconds: 1 })
  await refused
})
