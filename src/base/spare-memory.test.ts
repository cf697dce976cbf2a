import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepsSpareMemory, letGoOfSpareMemory } from '#base/spare-memory.ts'

test('whoever keeps memory for the next time is asked to let go of it, until it says that it keeps none', () => {
  let spare = [1, 2, 3]
  const kept = keepsSpareMemory(() => {
    spare = []
  })
  letGoOfSpareMemory()
  assert.deepEqual(spare, [])
  spare = [4]
  kept[Symbol.dispose]()
  letGoOfSpareMemory()
  assert.deepEqual(spare, [4])
})
