import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineKind, type Kind } from '#api/kind.ts'
import { builtInKinds } from '#api/kinds.ts'
import { knownKinds } from '#api/known-kinds.gen.ts'

const name = ({ group, version, plural }: Kind) => `${group}/${version}/${plural}`

test('every generated kind is served under the name and with the scope that clients know, and with its schema', () => {
  const served = new Map(builtInKinds.map((each) => [name(each), each]))
  for (const kind of knownKinds) assert.deepEqual({ ...served.get(name(kind)), ...kind }, served.get(name(kind)), name(kind))
})

test('what is served and not generated is there for old manifests only', () => {
  const known = new Set(knownKinds.map(name))
  const others = builtInKinds.filter((each) => !known.has(name(each)))
  assert.deepEqual(others.filter(({ stability }) => stability !== 'legacy').map(name), [])
})

test('kinds of custom resources are namespaced unless said', () => {
  const address = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets' }
  assert.equal(defineKind(address).scope, 'Namespaced')
  assert.equal(defineKind({ ...address, scope: 'Cluster' }).scope, 'Cluster')
})
