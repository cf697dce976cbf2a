import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '#api/meta/status-error.ts'
import { countOutermost, requireFewEntriesIn, requiringFewEntries } from '#apiserver/http/entry-limits.ts'
import { atOnce } from '#base/steps.ts'

const limits = { inOne: 3, inAll: 6 }
const requireFewEntries = (body: Uint8Array) => atOnce(requiringFewEntries(body, limits))
const taken: unknown[] = [
  {},
  [1, 2, 3],
  { a: 1, b: 2, c: 3 },
  { text: 'one, two, three, four, five' },
  { text: 'a quotation mark \\" and, a, comma, too' },
  [[1, 2], [3, 4], []],
]
const refused: [unknown, RegExp][] = [
  [[1, 2, 3, 4], /a list or map holds more than 3 entries/],
  [{ a: 1, b: 2, c: 3, d: 4 }, /a list or map holds more than 3 entries/],
  [{ deep: [{ deeper: ['', '', '', ''] }] }, /a list or map holds more than 3 entries/],
  [
    [
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
    ],
    /lists and maps hold more than 6 entries/,
  ],
]

const is413 = (words: RegExp) => (error: unknown) =>
  error instanceof StatusError && error.status.code === 413 && words.test(error.status.message ?? '')

test('entries are counted without reading the body', () => {
  for (const value of taken) requireFewEntries(Buffer.from(JSON.stringify(value)))
  for (const [value, words] of refused) {
    assert.throws(() => requireFewEntries(Buffer.from(JSON.stringify(value))), is413(words), JSON.stringify(value))
  }
})

test('what is cut off or no JSON is left to those who read it', () => {
  for (const text of ['{"a', '["\\', '}}]]', 'a: [1, 2, 3, 4, 5]', '']) requireFewEntries(Buffer.from(text))
})

test('entries of what was read from another form are counted as well', () => {
  for (const value of taken.slice(0, 5)) requireFewEntriesIn(value, limits)
  for (const [value, words] of refused) assert.throws(() => requireFewEntriesIn(value, limits), is413(words), JSON.stringify(value))
})

test('operations of a patch are counted without reading it', () => {
  const patch = [{ op: 'add', path: '/a,b', value: [1, 2, '],'] }, { op: 'remove', path: '/c' }, null]
  assert.equal(countOutermost(Buffer.from(JSON.stringify(patch))), 3)
  assert.equal(countOutermost(Buffer.from('[1')), 1)
})

test('a large body is looked at in steps, whatever is where one of them ends', () => {
  const step = 256 * 1024
  for (let length = step - 12; length < step; length++) {
    const start = `{"a":"${'x'.repeat(length)}\\",,,,\\\\","b":`
    requireFewEntries(Buffer.from(`${start}[1,2,3]}`))
    assert.throws(() => requireFewEntries(Buffer.from(`${start}[1,2,3,4]}`)), is413(/more than 3 entries/), `${length}`)
  }
  assert.equal([...requiringFewEntries(Buffer.from(`[${' '.repeat(3 * step)}]`), limits)].length, 3)
})
