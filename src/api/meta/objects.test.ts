import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { deepCopy, deepFreeze } from './deep-copy.ts'
import { generatedName } from './generate-name.ts'
import * as gvk from './gvk.ts'
import { controllerOf, controllerReference, isControlledBy, isOwnedBy, ownerReference } from './owner-references.ts'

test('a copy is equal and shares nothing', () => {
  const original = JSON.parse('{"a":[1,{"b":null}],"c":{"d":"e"},"__proto__":{"x":[true]},"f":0}')
  const copy = deepCopy(original)
  assert.deepEqual(copy, original)
  assert.equal(JSON.stringify(copy), JSON.stringify(original))
  assert.equal(Object.getPrototypeOf(copy), Object.prototype)
  copy.a[1].b = 1
  copy.c.d = 'x'
  assert.equal(original.a[1].b, null)
  assert.equal(original.c.d, 'e')
  for (const value of [null, undefined, 1, 'a', true]) assert.equal(deepCopy(value), value)
})

test('a frozen value is frozen throughout', () => {
  const value = deepFreeze({ a: [{ b: { c: 1 } }], d: null })
  assert.ok(Object.isFrozen(value.a[0]?.b))
  assert.throws(() => value.a.push({ b: { c: 2 } }), TypeError)
})

test('a generated name ends in five characters and never exceeds 63 bytes', () => {
  const random = seededRandom(1)
  assert.match(generatedName('web-', random), /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  const long = generatedName('x'.repeat(100), random)
  assert.equal(long.length, 63)
  assert.match(long, /^x{58}[^x]/)
})

test('owners and controllers are told by their references', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: 'a', uid: 'u1' } }
  const other = { metadata: { name: 'b', uid: 'u2' } }
  const reference = controllerReference(owner)
  assert.deepEqual(reference, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'a',
    uid: 'u1',
    controller: true,
    blockOwnerDeletion: true,
  })
  const pod = { metadata: { ownerReferences: [ownerReference(other, { group: '', version: 'v1', kind: 'Pod' }), reference] } }
  assert.equal(controllerOf(pod), reference)
  assert.equal(controllerOf({}), undefined)
  assert.equal(isControlledBy(pod, owner), true)
  assert.equal(isControlledBy(pod, other), false)
  assert.equal(isControlledBy({}, {}), false)
  assert.equal(isOwnedBy(pod, other), true)
  assert.equal(isOwnedBy({}, {}), false)
})

test('groups, versions, kinds and resources are read and printed', () => {
  const versions: [string, gvk.GroupVersion | undefined][] = [
    ['', { group: '', version: '' }],
    ['/', { group: '', version: '' }],
    ['v1', { group: '', version: 'v1' }],
    ['apps/v1', { group: 'apps', version: 'v1' }],
    ['apps/', { group: 'apps', version: '' }],
    ['/v1', { group: '', version: 'v1' }],
    ['a/b/c', undefined],
  ]
  for (const [text, parsed] of versions) assert.deepEqual(gvk.parseApiVersion(text), parsed, text)
  assert.equal(gvk.apiVersionOf({ group: '', version: 'v1' }), 'v1')
  assert.equal(gvk.apiVersionOf({ group: 'apps', version: 'v1' }), 'apps/v1')
  assert.equal(gvk.gvkText({ group: '', version: 'v1', kind: 'Pod' }), '/v1, Kind=Pod')
  assert.equal(gvk.gvrText({ group: 'apps', version: 'v1', resource: 'deployments' }), 'apps/v1, Resource=deployments')
  assert.equal(gvk.groupResourceText({ group: 'apps', resource: 'deployments' }), 'deployments.apps')
  assert.equal(gvk.groupKindText({ group: '', kind: 'Pod' }), 'Pod')
  assert.deepEqual(gvk.parseResourceArgument('deployments.v1.apps'), {
    full: { group: 'apps', version: 'v1', resource: 'deployments' },
    short: { group: 'v1.apps', resource: 'deployments' },
  })
  assert.deepEqual(gvk.parseResourceArgument('a.b.c.d').full, { group: 'c.d', version: 'b', resource: 'a' })
  assert.deepEqual(gvk.parseResourceArgument('deployments.apps'), { short: { group: 'apps', resource: 'deployments' } })
  assert.deepEqual(gvk.parseGroupKind('Deployment.apps'), { group: 'apps', kind: 'Deployment' })
  assert.deepEqual(gvk.gvkOf({ apiVersion: 'a/b/c', kind: 'X' }), { group: '', version: '', kind: 'X' })
})

test('versions sort newest and most stable first', () => {
  const sorted = ['v10', 'v2', 'v1', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10']
  assert.deepEqual([...sorted].reverse().sort(gvk.compareVersions), sorted)
})
