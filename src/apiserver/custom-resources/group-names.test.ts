import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupNames } from './group-names.ts'

test('a name is taken until the last definition that has it gives it up', () => {
  const names = new GroupNames()
  names.set('one', { plural: 'widgets', kind: 'Widget', shortNames: ['w'] }, true)
  names.set('two', { plural: 'gadgets', kind: 'Gadget', shortNames: ['w'] }, false)
  assert.ok(names.resources.has('w'))
  assert.ok(names.kinds.has('Gadget'))
  assert.deepEqual([...names.unsettled], ['two'])
  assert.equal(names.set('one', { plural: 'widgets', kind: 'Widget' }, true), false)
  assert.ok(names.resources.has('w'))
  assert.equal(names.set('two', { plural: 'gadgets', kind: 'Gadget' }, true), true)
  assert.ok(!names.resources.has('w'))
  assert.deepEqual([...names.unsettled], [])
})

test('a definition that goes leaves none of its names', () => {
  const names = new GroupNames()
  names.set('one', { plural: 'widgets', kind: 'Widget', listKind: 'WidgetList' }, true)
  names.delete('one')
  assert.ok(names.isEmpty)
  assert.equal(names.resources.size, 0)
  assert.equal(names.kinds.size, 0)
})
