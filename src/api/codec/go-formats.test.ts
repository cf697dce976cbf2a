import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DurationError, formatDuration, parseDuration } from '#base/duration.ts'
import { seededRandom } from '#base/random.ts'
import { base64Error } from './go-base64.ts'
import { canonicalTime, parseTime, TimeError, timeText } from './go-time.ts'

test('times come out in UTC, with whole seconds or six digits', () => {
  const cases: [text: string, precision: 'seconds' | 'micros', canonical: string | null][] = [
    ['2024-05-01T10:20:30Z', 'seconds', '2024-05-01T10:20:30Z'],
    ['2024-05-01T10:20:30.999999999Z', 'seconds', '2024-05-01T10:20:30Z'],
    ['2024-05-01T10:20:30,5Z', 'seconds', '2024-05-01T10:20:30Z'],
    ['2024-05-01T5:20:30Z', 'seconds', '2024-05-01T05:20:30Z'],
    ['2024-05-01T01:20:30+02:30', 'seconds', '2024-04-30T22:50:30Z'],
    ['2024-02-29T00:00:00-24:00', 'seconds', '2024-03-01T00:00:00Z'],
    ['0001-01-01T00:00:00Z', 'seconds', null],
    ['0000-12-31T23:59:59Z', 'seconds', '0000-12-31T23:59:59Z'],
    ['0099-01-01T00:00:00Z', 'seconds', '0099-01-01T00:00:00Z'],
    ['2024-05-01T10:20:30.123456Z', 'micros', '2024-05-01T10:20:30.123456Z'],
    ['1969-12-31T23:59:59.000001Z', 'micros', '1969-12-31T23:59:59.000001Z'],
  ]
  for (const [text, precision, canonical] of cases) assert.equal(canonicalTime(text, precision), canonical, text)
})

test('what is no time is refused in Go’s words', () => {
  const as = (text: string): string => `parsing time "${text}" as "2006-01-02T15:04:05Z07:00": cannot parse`
  const cases: [string, string][] = [
    ['', `${as('')} "" as "2006"`],
    ['now', `${as('now')} "now" as "2006"`],
    ['2024/05/01', `${as('2024/05/01')} "/05/01" as "-"`],
    ['2024-5-01T00:00:00Z', `${as('2024-5-01T00:00:00Z')} "5-01T00:00:00Z" as "01"`],
    ['2024-05-01', `${as('2024-05-01')} "" as "T"`],
    ['2024-05-01t00:00:00Z', `${as('2024-05-01t00:00:00Z')} "t00:00:00Z" as "T"`],
    ['2024-05-01T00:00:00', `${as('2024-05-01T00:00:00')} "" as "Z07:00"`],
    ['2024-13-01T00:00:00Z', 'parsing time "2024-13-01T00:00:00Z": month out of range'],
    ['2023-02-29T00:00:00Z', 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    ['2024-05-01T24:00:00Z', 'parsing time "2024-05-01T24:00:00Z": hour out of range'],
    ['2024-05-01T00:60:00Z', 'parsing time "2024-05-01T00:60:00Z": minute out of range'],
    ['2024-05-01T00:00:60Z', 'parsing time "2024-05-01T00:00:60Z": second out of range'],
    ['2024-05-01T00:00:00Zx', 'parsing time "2024-05-01T00:00:00Zx": extra text: "x"'],
  ]
  for (const [text, message] of cases) assert.throws(() => canonicalTime(text, 'seconds'), new TimeError(message), text)
})

test('times survive being counted in seconds', () => {
  const seed = 3
  const random = seededRandom(seed)
  for (let round = 0; round < 500; round++) {
    const seconds = Math.floor((random.float() - 0.2) * 2.5e11)
    const nanos = random.int(1_000_000) * 1000
    const text = timeText(seconds, nanos, 'micros')
    assert.deepEqual(parseTime(text ?? '', 'micros'), { seconds, nanos }, `seed ${seed}, round ${round}: ${text}`)
  }
})

test('durations are read and written as Go does', () => {
  const cases: [text: string, nanos: bigint, canonical: string][] = [
    ['0', 0n, '0s'],
    ['1.5s', 1_500_000_000n, '1.5s'],
    ['90m', 5_400_000_000_000n, '1h30m0s'],
    ['-1h', -3_600_000_000_000n, '-1h0m0s'],
    ['1h1s', 3_601_000_000_000n, '1h0m1s'],
    ['100us', 100_000n, '100µs'],
    ['1.000001ms', 1_000_001n, '1.000001ms'],
    ['.5s', 500_000_000n, '500ms'],
    ['+5ns', 5n, '5ns'],
    ['-9223372036854775808ns', -9223372036854775808n, '-2562047h47m16.854775808s'],
  ]
  for (const [text, nanos, canonical] of cases) {
    assert.equal(parseDuration(text), nanos, text)
    assert.equal(formatDuration(nanos), canonical, text)
  }
  const wrong: [string, string][] = [
    ['', 'time: invalid duration ""'],
    ['5', 'time: missing unit in duration "5"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
    ['s', 'time: invalid duration "s"'],
    ['1h-2m', 'time: unknown unit "h-" in duration "1h-2m"'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
  ]
  for (const [text, message] of wrong) assert.throws(() => parseDuration(text), new DurationError(message), text)
})

test('what is no base64 is refused with the place where it stops being some', () => {
  const cases: [string, number | undefined][] = [
    ['', undefined],
    ['YQ==', undefined],
    ['YW\nI=', undefined],
    ['YWJj\n', undefined],
    ['%', 0],
    ['YWJ%', 3],
    ['YWJ', 0],
    ['YWJjY', 4],
    ['Y===', 1],
    ['YQ=', 3],
    ['YQ=x', 2],
    ['YQ==x', 4],
    ['YWI=YWI=', 4],
    ['é', 0],
  ]
  for (const [text, at] of cases)
    assert.equal(base64Error(text), at === undefined ? undefined : `illegal base64 data at input byte ${at}`, text)
})
