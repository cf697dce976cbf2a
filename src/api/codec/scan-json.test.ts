import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce } from '#base/steps.ts'
import { isTooDeep } from './json-syntax-error.ts'
import { countingKeys, countKeys } from './scan-json.ts'

const step = 256 * 1024

test('keys of a large text are counted in steps, whatever is where one of them ends', () => {
  for (let length = step - 20; length < step; length++) {
    const text = (value: string) => Buffer.from(`{"a":"${'x'.repeat(length)}", "b" : ${value}, "c":{"d":[]}}`)
    assert.equal(countKeys(text('1')), 4, `${length}`)
    assert.equal(countKeys(text('1.0')), -1, `${length}`)
  }
  assert.equal([...countingKeys(Buffer.from(`{"a":${' '.repeat(3 * step)}1}`))].length, 3)
})

test('numbers are found behind any number of spaces, and read to their end', () => {
  for (const count of [0, 1, 31, 32, 33, 1000, 64 * 1024 + 31, 64 * 1024 + 32, 200_000]) {
    const spaces = ' \n\t\r'.repeat(count / 4 + 1).slice(0, count)
    for (const digits of ['1', '1'.repeat(count + 1)]) {
      assert.equal(countKeys(Buffer.from(`{"a":${spaces}${digits}}`)), 1, `${count}`)
      assert.equal(countKeys(Buffer.from(`{"a":${spaces}-${digits}.5}`)), -1, `${count}`)
      assert.equal(countKeys(Buffer.from(`{"a":${spaces}${digits}e1}`)), -1, `${count}`)
    }
    assert.equal(countKeys(Buffer.from(`{"a":${spaces}"1.5"}`)), 1, `${count}`)
    assert.equal(countKeys(Buffer.from(`{"a":${spaces}`)), 1, `${count}`)
  }
})

test('depth is counted in steps, whatever is where one of them ends', () => {
  const deepest = (more: number) => '['.repeat(10_000 + more) + ']'.repeat(10_000 + more)
  for (let length = step - 12; length < step; length++) {
    const text = (value: string) => Buffer.from(`"${'x'.repeat(length)}\\"[\\\\"${value}`)
    assert.equal(atOnce(isTooDeep(text(deepest(0)))), false, `${length}`)
    assert.equal(atOnce(isTooDeep(text(deepest(1)))), true, `${length}`)
  }
  assert.equal([...isTooDeep(Buffer.alloc(3 * step, ' '))].length, 2)
})
