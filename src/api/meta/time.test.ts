import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalTime } from '#api/codec/go-time.ts'
import { seededRandom } from '#base/random.ts'
import { formatMicroTime, formatTime, parseMicroTime, parseTime } from './time.ts'

test('times are written in UTC, cut to the second', () => {
  const cases: [number, string][] = [
    [0, '1970-01-01T00:00:00Z'],
    [999, '1970-01-01T00:00:00Z'],
    [-1, '1969-12-31T23:59:59Z'],
    [1767323045006, '2026-01-02T03:04:05Z'],
  ]
  for (const [ms, text] of cases) assert.equal(formatTime(ms), text)
  assert.equal(formatMicroTime(1767323045000006), '2026-01-02T03:04:05.000006Z')
  assert.equal(formatMicroTime(-1), '1969-12-31T23:59:59.999999Z')
})

test('a time is read leniently and answered in canonical form', () => {
  const cases: [string, string | null][] = [
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05.999Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05,5Z', '2026-01-02T03:04:05Z'],
    ['2026-01-02T03:04:05+01:00', '2026-01-02T02:04:05Z'],
    ['2026-01-02T03:04:05-24:60', '2026-01-03T04:04:05Z'],
    ['2026-01-02T3:04:05Z', '2026-01-02T03:04:05Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['0099-12-31T00:00:00Z', '0099-12-31T00:00:00Z'],
    ['0001-01-01T00:00:00Z', null],
    ['0001-01-01T01:00:00+01:00', null],
  ]
  for (const [text, canonical] of cases) assert.equal(canonicalTime(text, 'seconds'), canonical, text)
  assert.equal(canonicalTime('2026-01-02T03:04:05.000006+00:30', 'micros'), '2026-01-02T02:34:05.000006Z')
  assert.equal(canonicalTime('0001-01-01T00:00:00.000000Z', 'micros'), null)
})

test('what is no time is refused in the words clients know', () => {
  const seconds = '2006-01-02T15:04:05Z07:00'
  const micros = '2006-01-02T15:04:05.000000Z07:00'
  const cases: [parse: (text: string) => number, text: string, message: string][] = [
    [parseTime, 'yesterday', `parsing time "yesterday" as "${seconds}": cannot parse "yesterday" as "2006"`],
    [parseMicroTime, 'now', `parsing time "now" as "${micros}": cannot parse "now" as "2006"`],
    [parseTime, '', `parsing time "" as "${seconds}": cannot parse "" as "2006"`],
    [parseTime, '2026', `parsing time "2026" as "${seconds}": cannot parse "" as "-"`],
    [parseTime, '2026-1-02', `parsing time "2026-1-02" as "${seconds}": cannot parse "1-02" as "01"`],
    [parseTime, '2026-01-02', `parsing time "2026-01-02" as "${seconds}": cannot parse "" as "T"`],
    [parseTime, '2026-01-02 03:04:05Z', `parsing time "2026-01-02 03:04:05Z" as "${seconds}": cannot parse " 03:04:05Z" as "T"`],
    [parseTime, '2026-01-02T03:04:05', `parsing time "2026-01-02T03:04:05" as "${seconds}": cannot parse "" as "Z07:00"`],
    [parseTime, '2026-01-02T03:04:05+0100', `parsing time "2026-01-02T03:04:05+0100" as "${seconds}": cannot parse "+0100" as "Z07:00"`],
    [parseTime, '2026-13-02T03:04:05Z', 'parsing time "2026-13-02T03:04:05Z": month out of range'],
    [parseTime, '2026-02-29T03:04:05Z', 'parsing time "2026-02-29T03:04:05Z": day out of range'],
    [parseTime, '2026-01-02T24:04:05Z', 'parsing time "2026-01-02T24:04:05Z": hour out of range'],
    [parseTime, '2026-01-02T03:60:05Z', 'parsing time "2026-01-02T03:60:05Z": minute out of range'],
    [parseTime, '2026-01-02T03:04:60Z', 'parsing time "2026-01-02T03:04:60Z": second out of range'],
    [parseTime, '2026-01-02T03:04:05+25:00', 'parsing time "2026-01-02T03:04:05+25:00": time zone offset hour out of range'],
    [parseTime, '2026-01-02T03:04:05Zé', 'parsing time "2026-01-02T03:04:05Z\\xc3\\xa9": extra text: "\\xc3\\xa9"'],
    [parseMicroTime, '2026-01-02T03:04:05Z', `parsing time "2026-01-02T03:04:05Z" as "${micros}": cannot parse "Z" as ".000000"`],
    [
      parseMicroTime,
      '2026-01-02T03:04:05.0000001Z',
      `parsing time "2026-01-02T03:04:05.0000001Z" as "${micros}": cannot parse "1Z" as "Z07:00"`,
    ],
  ]
  for (const [parse, text, message] of cases) assert.throws(() => parse(text), { name: 'TimeError', message }, text)
})

test('what is written is read back', () => {
  const seed = 5
  const random = seededRandom(seed)
  for (let round = 0; round < 2000; round++) {
    const micros = random.int(2 ** 32) * 1e6 + random.int(1e6)
    assert.equal(parseMicroTime(formatMicroTime(micros)), micros, `seed ${seed} round ${round}`)
    const ms = Math.floor(micros / 1e6) * 1000
    assert.equal(parseTime(formatTime(ms)), ms, `seed ${seed} round ${round}`)
    assert.equal(canonicalTime(formatTime(ms), 'seconds'), formatTime(ms))
  }
})
