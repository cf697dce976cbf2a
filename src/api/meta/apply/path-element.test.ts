import assert from 'node:assert/strict'
import { test } from 'node:test'
import { itemElement, lazyList, untypedAtomic } from '#api/meta/apply/merge-type.ts'
import { fieldElement, readElement } from '#api/meta/apply/path-element.ts'
import { letGoOfSpareMemory } from '#base/spare-memory.ts'
import { heapKeptBy, longTexts } from '#base/testing/heap-kept-by.ts'

test('elements that were read are remembered, until the process gives memory back', () => {
  const read = readElement('k:{"name":"c"}')
  assert.equal(readElement('k:{"name":"c"}'), read)
  letGoOfSpareMemory()
  assert.notEqual(readElement('k:{"name":"c"}'), read)
  assert.deepEqual(readElement('k:{"name":"c"}'), read)
})

test('names as long as a document are not remembered', () => {
  const list = lazyList(
    false,
    [],
    () => untypedAtomic,
    () => undefined,
  )
  const kept = heapKeptBy(() => {
    for (const text of longTexts(50)) {
      assert.equal(readElement(fieldElement(text)).content, text)
      assert.equal(itemElement(list, text), `v:"${text}"`)
    }
  })
  assert.ok(kept < 10 << 20, `${kept}`)
})
