import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze } from '#api/meta/deep-copy.ts'
import { randomObject } from '#api/meta/patch/testing/random-json.ts'
import { schemaNames, schemaOf } from '#api/schema/schema.ts'
import { seededRandom } from '#base/random.ts'
import { applyPatch } from './apply-patch.ts'
import type { JsonObject } from './json-value.ts'
import { createThreeWayMergePatch, createTwoWayMergePatch } from './strategic-diff.ts'

const podSpec = schemaOf('io.k8s.api.core.v1.PodSpec')
const objectMeta = schemaOf('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')

test('the patch says what changed, in the way the field merges', () => {
  const cases: [string, JsonObject, JsonObject, JsonObject][] = [
    ['nothing', { hostname: 'a' }, { hostname: 'a' }, {}],
    ['a scalar', { hostname: 'a' }, { hostname: 'b' }, { hostname: 'b' }],
    ['a deletion', { hostname: 'a' }, {}, { hostname: null }],
    ['a list that is replaced', { tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'b' }] }, { tolerations: [{ key: 'b' }] }],
    [
      'an item',
      { containers: [{ name: 'a', image: '1' }] },
      { containers: [{ name: 'a', image: '2' }] },
      {
        '$setElementOrder/containers': [{ name: 'a' }],
        containers: [{ name: 'a', image: '2' }],
      },
    ],
    [
      'items that come and go',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { containers: [{ name: 'c' }, { name: 'b' }] },
      {
        '$setElementOrder/containers': [{ name: 'c' }, { name: 'b' }],
        containers: [{ name: 'c' }, { name: 'a', $patch: 'delete' }],
      },
    ],
    [
      'an order',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { containers: [{ name: 'b' }, { name: 'a' }] },
      {
        '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
      },
    ],
    [
      'a member of a union',
      { volumes: [{ name: 'v', emptyDir: {} }] },
      { volumes: [{ name: 'v', hostPath: { path: '/' } }] },
      {
        '$setElementOrder/volumes': [{ name: 'v' }],
        volumes: [{ name: 'v', emptyDir: null, hostPath: { path: '/' }, $retainKeys: ['hostPath', 'name'] }],
      },
    ],
  ]
  for (const [name, original, modified, expected] of cases) {
    assert.deepEqual(createTwoWayMergePatch(deepFreeze(original), deepFreeze(modified), podSpec), expected, name)
  }
  assert.deepEqual(createTwoWayMergePatch({ finalizers: ['a', 'b'] }, { finalizers: ['c', 'a'] }, objectMeta), {
    finalizers: ['c'],
    '$deleteFromPrimitiveList/finalizers': ['b'],
    '$setElementOrder/finalizers': ['c', 'a'],
  })
})

test('the patch computed between two random objects of any kind, applied to the first, gives the second', () => {
  const kinds = schemaNames().filter((name) => schemaOf(name).groupVersionKinds.length === 1 && name.startsWith('io.k8s.api.'))
  let count = 0
  for (const [index, name] of kinds.entries()) {
    const schema = schemaOf(name)
    for (let round = 0; round < (name.endsWith('v1.Pod') ? 200 : 4); round++) {
      const seed = index * 1000 + round
      const random = seededRandom(seed)
      const [original, modified] = [randomObject(schema, random), randomObject(schema, random)]
      const patch = createTwoWayMergePatch(deepFreeze(original), deepFreeze(modified), schema)
      assert.deepEqual(applyPatch('strategic', original, patch, schema), modified, `${name}, seed ${seed}`)
      count++
    }
  }
  assert.ok(count > 500, `${count} pairs`)
})

test('three ways: what others added stays, what was applied and is no longer wanted goes', () => {
  const cases: [string, JsonObject, JsonObject, JsonObject, JsonObject][] = [
    [
      "others' items stay",
      { containers: [{ name: 'a' }] },
      { containers: [{ name: 'a' }, { name: 'b' }] },
      {
        containers: [{ name: 'a' }, { name: 'sidecar' }],
      },
      { containers: [{ name: 'a' }, { name: 'b' }, { name: 'sidecar' }] },
    ],
    [
      'own items go',
      { containers: [{ name: 'a' }, { name: 'b' }] },
      { containers: [{ name: 'a' }] },
      {
        containers: [{ name: 'a' }, { name: 'b' }, { name: 'sidecar' }],
      },
      { containers: [{ name: 'a' }, { name: 'sidecar' }] },
    ],
    [
      'a field given up goes',
      { hostname: 'a', subdomain: 's' },
      { subdomain: 's' },
      { hostname: 'a', subdomain: 's', nodeName: 'n' },
      {
        subdomain: 's',
        nodeName: 'n',
      },
    ],
    ['a change of others is undone', { hostname: 'a' }, { hostname: 'a' }, { hostname: 'b' }, { hostname: 'a' }],
    [
      'defaults stay',
      { containers: [{ name: 'a', image: '1' }] },
      { containers: [{ name: 'a', image: '2' }] },
      {
        containers: [{ name: 'a', image: '1', imagePullPolicy: 'Always' }],
        dnsPolicy: 'ClusterFirst',
      },
      { containers: [{ name: 'a', image: '2', imagePullPolicy: 'Always' }], dnsPolicy: 'ClusterFirst' },
    ],
    [
      'a volume changes its kind',
      { volumes: [{ name: 'v', emptyDir: {} }] },
      { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
      {
        volumes: [
          { name: 'v', emptyDir: { medium: 'Memory' } },
          { name: 'token', secret: {} },
        ],
      },
      {
        volumes: [
          { name: 'v', configMap: { name: 'c' } },
          { name: 'token', secret: {} },
        ],
      },
    ],
  ]
  for (const [name, original, modified, current, expected] of cases) {
    const patch = createThreeWayMergePatch(deepFreeze(original), deepFreeze(modified), deepFreeze(current), podSpec)
    assert.deepEqual(applyPatch('strategic', current, patch, podSpec), expected, name)
  }
})

test('without leave to overwrite, what others changed meanwhile is a conflict', () => {
  const [original, modified] = [
    { hostname: 'a', subdomain: 's' },
    { hostname: 'b', subdomain: 's' },
  ]
  const strict = { overwrite: false }
  assert.throws(
    () => createThreeWayMergePatch(original, modified, { hostname: 'c', subdomain: 's' }, podSpec, strict),
    /conflicts with changes/,
  )
  assert.deepEqual(createThreeWayMergePatch(original, modified, { ...original, nodeName: 'n' }, podSpec, strict), { hostname: 'b' })
})
