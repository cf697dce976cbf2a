import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reuseChunk, takeChunk } from '#apiserver/http/chunks.ts'
import { letGoOfSpareMemory } from '#base/spare-memory.ts'

test('a chunk is used again, until the process gives memory back', () => {
  letGoOfSpareMemory()
  const first = takeChunk(100)
  reuseChunk(first.subarray(0, 50))
  assert.equal(takeChunk(100).buffer, first.buffer)
  reuseChunk(first)
  letGoOfSpareMemory()
  assert.notEqual(takeChunk(100).buffer, first.buffer)
})

test('what is larger than a chunk is not kept', () => {
  const large = takeChunk(1 << 20)
  reuseChunk(large)
  assert.notEqual(takeChunk(1 << 20).buffer, large.buffer)
})
