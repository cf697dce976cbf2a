import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Anything, configMap, configMaps, entry, later, managerOf, noon } from '#api/meta/apply/testing/ownership.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { pathsOf } from './field-set.ts'
import { mergeTypeOf } from './schema-merge-type.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `k${index}`)
const data = (count: number, value: string): Anything => Object.fromEntries(names(count).map((name) => [name, value]))
const ownerOfEach = (count: number, operation: string, more: Anything = {}) =>
  names(count).map((name, index) => entry(`m${index}`, operation, { 'f:data': { [`f:${name}`]: {} } }, more))
const count = 8000
const options = { manager: 'me', time: later }

test('thousands of updaters become ten in time that grows with their number', () => {
  const live = configMap(data(count, 'x'), { uid: 'u' })
  const next = configMap(data(count, 'x'), { uid: 'u', managedFields: ownerOfEach(count, 'Update') })
  const all = configMaps.updated(live, next, options).metadata?.managedFields ?? []
  assert.equal(all.length, 10)
  const merged = all.find(({ manager }) => manager === 'ancient-changes')
  assert.equal(pathsOf(merged?.fieldsV1 ?? {}).length, count - 9)
})

test('thousands of owners lose what thousands of changes take from them', () => {
  const live = configMap(data(count, 'x'), { uid: 'u' })
  const owned = (value: string) => configMap(data(count, value), { uid: 'u', managedFields: ownerOfEach(count, 'Apply') })
  assert.equal(configMaps.updated(live, owned('x'), options).metadata?.managedFields?.length, count)
  assert.deepEqual(
    configMaps.updated(live, owned('y'), options).metadata?.managedFields?.map(({ manager }) => manager),
    ['me'],
  )
  const change = configMap({ ...data(count, 'x'), k7: 'y' }, { uid: 'u', managedFields: ownerOfEach(count, 'Apply') })
  const after = configMaps.updated(live, change, options).metadata?.managedFields ?? []
  assert.equal(after.length, count)
  assert.ok(!after.some(({ manager }) => manager === 'm7'))
})

test('what an applier gives up goes, among thousands of owners', () => {
  const live = configMap(data(count, 'x'), { uid: 'u', managedFields: ownerOfEach(count, 'Apply') })
  const applied = configMaps.applied(live, configMap({ other: 'x' }), { manager: 'm0', time: later })
  const left = (applied as KubernetesObject & { data: Anything }).data
  assert.deepEqual([left['k0'], left['k1'], left['other'], Object.keys(left).length], [undefined, 'x', 'x', count])
})

test('the object is converted once for each version that owners speak of', () => {
  const schema = 'io.k8s.api.core.v1.ConfigMap'
  let conversions = 0
  const manager = managerOf('v1', 'ConfigMap', schema, {
    convert(object) {
      conversions++
      return { object, type: mergeTypeOf(schemaOf(schema)) }
    },
  })
  const live = configMap(data(10, 'x'), { uid: 'u' })
  const next = configMap(data(10, 'y'), { uid: 'u', managedFields: ownerOfEach(5000, 'Apply', { apiVersion: 'v2', time: noon }) })
  manager.updated(live, next, options)
  assert.ok(conversions <= 3, `${conversions}`)
})
