import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readElement } from '#api/meta/apply/path-element.ts'
import { letGoOfSpareMemory } from '#base/spare-memory.ts'

test('elements that were read are remembered, until the process gives memory back', () => {
  const read = readElement('k:{"name":"c"}')
  assert.equal(readElement('k:{"name":"c"}'), read)
  letGoOfSpareMemory()
  assert.notEqual(readElement('k:{"name":"c"}'), read)
  assert.deepEqual(readElement('k:{"name":"c"}'), read)
})
