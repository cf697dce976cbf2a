import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeNumber } from '#apiserver/http/query-options.ts'

const numbers: [string, number | RegExp][] = [
  ['7', 7],
  ['+7', 7],
  ['-7', -7],
  [`${'0'.repeat(1000)}7`, 7],
  ['9223372036854775807', 2 ** 63],
  ['-9223372036854775808', -(2 ** 63)],
  ['9223372036854775808', /value out of range/],
  ['9'.repeat(20), /value out of range/],
  // Read as a number it would not be done for years.
  ['9'.repeat(20_000_000), /value out of range/],
  ['', /invalid syntax/],
  ['7x', /invalid syntax/],
  [`${'0'.repeat(1_000_000)}x`, /invalid syntax/],
]
for (const [text, expected] of numbers) {
  test(`${text.slice(0, 30)} (${text.length} characters) as a number`, () => {
    if (typeof expected === 'number') assert.equal(wholeNumber(text), expected)
    else assert.throws(() => wholeNumber(text), expected)
  })
}
