import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalDuration, formatDuration, formatDurationMs, lengthOfTimeMs, parseDuration, parseDurationMs } from '#base/duration.ts'
import { seededRandom } from '#base/random.ts'

test('durations are read as Go reads them and written as Go writes them', () => {
  const cases: [string, string][] = [
    ['0', '0s'],
    ['-0', '0s'],
    ['0s', '0s'],
    ['5s', '5s'],
    ['30m', '30m0s'],
    ['1h', '1h0m0s'],
    ['90s', '1m30s'],
    ['1h2m3s', '1h2m3s'],
    ['1.5h', '1h30m0s'],
    ['.5s', '500ms'],
    ['5.s', '5s'],
    ['-1.5s', '-1.5s'],
    ['+5s', '5s'],
    ['1500ms', '1.5s'],
    ['10us', '10µs'],
    ['1\u00b5s', '1µs'],
    ['1\u03bcs', '1µs'],
    ['1234ns', '1.234µs'],
    ['12ns', '12ns'],
    ['100000h', '100000h0m0s'],
    ['0.3333333333333333333h', '20m0s'],
    ['9007199254740993ns', '2501h59m59.254740993s'],
    ['9223372036854775807ns', '2562047h47m16.854775807s'],
    ['-9223372036854775808ns', '-2562047h47m16.854775808s'],
  ]
  for (const [text, canonical] of cases) assert.equal(canonicalDuration(text), canonical, text)
})

test('what is no duration is refused in the words of Go', () => {
  const cases: [string, string][] = [
    ['', 'time: invalid duration ""'],
    ['-', 'time: invalid duration "-"'],
    ['s', 'time: invalid duration "s"'],
    ['.s', 'time: invalid duration ".s"'],
    ['3', 'time: missing unit in duration "3"'],
    ['1.5', 'time: missing unit in duration "1.5"'],
    ['1d', 'time: unknown unit "d" in duration "1d"'],
    ['1 s', 'time: unknown unit " s" in duration "1 s"'],
    ['1constructor', 'time: unknown unit "constructor" in duration "1constructor"'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
    ['3000000h', 'time: invalid duration "3000000h"'],
    [`${'9'.repeat(30)}s`, `time: invalid duration "${'9'.repeat(30)}s"`],
  ]
  for (const [text, message] of cases) assert.throws(() => parseDuration(text), { name: 'DurationError', message }, text)
})

test('milliseconds go in and out', () => {
  assert.equal(parseDurationMs('1m0.5s'), 60500)
  assert.equal(formatDurationMs(60500), '1m0.5s')
  assert.equal(formatDurationMs(0.25), '250µs')
})

test('what is written is read back', () => {
  const seed = 3
  const random = seededRandom(seed)
  for (let round = 0; round < 2000; round++) {
    const nanos = BigInt(random.int(2 ** 31)) * BigInt(10 ** random.int(10)) * (random.int(2) === 0 ? 1n : -1n)
    assert.equal(parseDuration(formatDuration(nanos)), nanos, `seed ${seed} round ${round} ${nanos}`)
  }
})

test('a length of time is never negative', () => {
  for (const text of ['0', '30s', '1m30s', '500ms', '1.5h', '100us']) assert.equal(lengthOfTimeMs(text), parseDurationMs(text), text)
  for (const text of ['', '30', '-1s', 's', '1d', '1m30', ' 1s']) assert.equal(lengthOfTimeMs(text), undefined, text)
})

test('a megabyte is no duration, whatever it says', () => {
  for (const text of ['1s'.repeat(500_000), `${'0'.repeat(1_000_000)}s`, `0.${'0'.repeat(1_000_000)}s`, '\n'.repeat(1_000_000)]) {
    assert.throws(
      () => parseDuration(text),
      (error: Error) => error.message.startsWith('time: invalid duration "') && error.message.length < 300_000,
    )
  }
})
