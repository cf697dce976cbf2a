import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deducedType, lazyList, lazyMap, MergeType, untypedAtomic } from './merge-type.ts'

test('the types of fields and items are found on first use, and once', () => {
  const asked: string[] = []
  const typeNamed = (name: string) => {
    asked.push(name)
    return name === 'self' ? itself : deducedType
  }
  const itself: MergeType = new MergeType({ map: lazyMap(false, ['self', 'other'], typeNamed, () => typeNamed('element')) })
  const { map } = itself
  assert.deepEqual([...(map?.fields.keys() ?? [])], ['self', 'other'])
  assert.deepEqual(asked, [])
  assert.equal(map?.fields.get('self')?.type, itself)
  assert.equal(map?.fieldsByElement.get('f:self')?.type, itself)
  assert.equal(map?.element, deducedType)
  assert.equal(map?.element, deducedType)
  assert.deepEqual(asked, ['self', 'element'])
})

test('a map without a type for other keys has none, and a list knows its keys in order with their defaults', () => {
  assert.equal(lazyMap(false, [], () => deducedType).element, undefined)
  const list = lazyList(
    false,
    ['protocol', 'containerPort'],
    () => untypedAtomic,
    (key) => (key === 'protocol' ? 'TCP' : undefined),
  )
  assert.deepEqual(list.keys, [
    { name: 'containerPort', default: undefined },
    { name: 'protocol', default: 'TCP' },
  ])
  assert.equal(list.keys, list.keys)
  assert.equal(list.element, untypedAtomic)
})
