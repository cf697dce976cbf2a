import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { jsonText } from '#api/codec/json-text.ts'
import { parseJson } from '#api/codec/parse-json.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { seededRandom } from '#base/random.ts'
import { conversionOf } from './conversion-webhook.ts'

const to = { group: 'example.com', version: 'v2', kind: 'Widget', plural: 'widgets', scope: 'Namespaced', schema: '' } as ResourceDefinition
const widgets = (count: number): KubernetesObject[] =>
  Array.from({ length: count }, (_, index) => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: `w${index}`, namespace: 'default', uid: `u${index}`, labels: { a: 'b' } },
  }))

type Review = { kind: string; apiVersion: string; request: { uid: string; desiredAPIVersion: string; objects: KubernetesObject[] } }
type Answer = (review: Review) => unknown

function converting(answer: Answer, versions = ['v1']) {
  const calls: Review[] = []
  const webhook = { clientConfig: { url: 'https://example.com/convert' }, conversionReviewVersions: versions }
  const definition = { spec: { conversion: { strategy: 'Webhook', webhook } } } as unknown as V1CustomResourceDefinition
  const post = async (_: unknown, { body }: { body: string }) => {
    const review = parseJson(body) as Review
    calls.push(review)
    return jsonText(answer(review))
  }
  const convert = conversionOf(definition, { webhooks: { post }, random: seededRandom(1) }) ?? assert.fail('there is a webhook')
  return { calls, convert: (objects: KubernetesObject[]) => convert(objects, to) }
}

const success =
  (change: (object: KubernetesObject) => unknown = (object) => object): Answer =>
  ({ kind, apiVersion, request }) => ({
    kind,
    apiVersion,
    response: {
      uid: request.uid,
      result: { status: 'Success' },
      convertedObjects: request.objects.map((object) => change({ ...object, apiVersion: request.desiredAPIVersion })),
    },
  })

test('a thousand objects are one call', async () => {
  const { calls, convert } = converting(success())
  const converted = await convert(widgets(1000))
  assert.equal(calls.length, 1)
  assert.equal(converted.length, 1000)
  assert.equal(converted[999]?.apiVersion, 'example.com/v2')
  assert.equal(calls[0]?.apiVersion, 'apiextensions.k8s.io/v1')
})

test('integers of 64 bits are the same afterwards', async () => {
  const { convert } = converting(success())
  const [converted] = await convert(widgets(1).map((widget) => ({ ...widget, spec: { size: 9_007_199_254_740_993n } })))
  assert.deepEqual((converted as { spec?: unknown }).spec, { size: 9_007_199_254_740_993n })
})

test('a conversion may change labels and annotations, and no other metadata', async () => {
  const { convert } = converting(
    success((object) => ({ ...object, metadata: { ...object.metadata, labels: { c: 'd' }, generation: 99, ownerReferences: [] } })),
  )
  const [converted] = await convert(widgets(1))
  assert.deepEqual(converted?.metadata, { name: 'w0', namespace: 'default', uid: 'u0', labels: { c: 'd' } })
})

test('a webhook that does not do its work is told of in words that say why', async () => {
  const head = 'conversion webhook for example.com/v1, Kind=Widget '
  const cases: [Answer, string][] = [
    [() => ({}), 'failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind='],
    [() => null as never, 'failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind='],
    [
      ({ kind, apiVersion, request: { uid } }) => ({
        kind,
        apiVersion,
        response: { uid, result: { status: 'Success' }, convertedObjects: 'none' },
      }),
      'failed: response.convertedObjects is no list but string',
    ],
    [({ kind, apiVersion }) => ({ kind, apiVersion }), 'failed: no response provided'],
    [({ kind, apiVersion }) => ({ kind, apiVersion, response: { uid: 'other' } }), 'failed: expected response.uid='],
    [
      ({ kind, apiVersion, request: { uid } }) => ({ kind, apiVersion, response: { uid, result: { status: 'Failure', message: 'no' } } }),
      'failed: no',
    ],
    [
      ({ kind, apiVersion, request: { uid } }) => ({ kind, apiVersion, response: { uid, result: { status: 'Success' } } }),
      'returned 0 objects, expected 1',
    ],
    [
      success((object) => ({ ...object, apiVersion: 'example.com/v3' })),
      'returned invalid converted object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)',
    ],
    [
      success((object) => ({ ...object, metadata: { ...object.metadata, name: 'x' } })),
      'returned invalid converted object at index 0: must have the same name: w0 != x',
    ],
    [
      success((object) => ({ ...object, metadata: { ...object.metadata, labels: { a: 1 } } })),
      'returned invalid metadata in object at index 0: metadata.labels[a] must be a string',
    ],
  ]
  for (const [answer, message] of cases) {
    await assert.rejects(converting(answer).convert(widgets(1)), (error: Error) => {
      assert.ok(error.message.startsWith(head + message), error.message)
      return true
    })
  }
})

test('old reviews are spoken with webhooks that know no others, and nobody looks at whose answer it is', async () => {
  const { calls, convert } = converting(
    ({ request }) => ({
      response: {
        result: { status: 'Success' },
        convertedObjects: request.objects.map((each) => ({ ...each, apiVersion: 'example.com/v2' })),
      },
    }),
    ['v9', 'v1beta1', 'v1'],
  )
  assert.equal((await convert(widgets(2))).length, 2)
  assert.equal(calls[0]?.apiVersion, 'apiextensions.k8s.io/v1beta1')
})
