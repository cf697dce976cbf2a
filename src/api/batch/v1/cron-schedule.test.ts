import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCronSchedule } from '#api/batch/v1/cron-schedule.ts'

const at = (text: string) => Date.parse(text)
const shown = (ms: number | undefined) => (ms === undefined ? 'never' : new Date(ms).toISOString().replace('.000Z', 'Z'))

test('the next activation is the first moment after now that all fields allow', () => {
  const cases: [schedule: string, after: string, next: string, zone?: string][] = [
    ['*/5 * * * *', '2024-01-01T00:00:00Z', '2024-01-01T00:05:00Z'],
    ['*/5 * * * *', '2024-01-01T00:04:59Z', '2024-01-01T00:05:00Z'],
    ['0 0 * * *', '2024-02-28T12:00:00Z', '2024-02-29T00:00:00Z'],
    ['30 4 1,15 * 5', '2024-01-01T05:00:00Z', '2024-01-05T04:30:00Z'],
    ['0 12 * * mon-fri', '2024-01-05T12:00:00Z', '2024-01-08T12:00:00Z'],
    ['0 0 29 2 *', '2024-03-01T00:00:00Z', '2028-02-29T00:00:00Z'],
    ['0 0 31 2 *', '2024-03-01T00:00:00Z', 'never'],
    ['5/20 * * * ?', '2024-01-01T00:26:00Z', '2024-01-01T00:45:00Z'],
    ['@hourly', '2024-01-01T00:30:00Z', '2024-01-01T01:00:00Z'],
    ['@weekly', '2024-01-01T00:30:00Z', '2024-01-07T00:00:00Z'],
    ['@yearly', '2024-01-01T00:30:00Z', '2025-01-01T00:00:00Z'],
    ['@every 1h30m', '2024-01-01T00:00:10Z', '2024-01-01T01:30:10Z'],
    ['@every 10ms', '2024-01-01T00:00:10Z', '2024-01-01T00:00:11Z'],
    ['0 9 * * *', '2024-01-01T00:00:00Z', '2024-01-01T08:00:00Z', 'Europe/Berlin'],
    ['TZ=America/New_York 0 9 * * *', '2024-07-01T00:00:00Z', '2024-07-01T13:00:00Z', 'Europe/Berlin'],
    // Clocks skip from 2:00 to 3:00, so that 2:30 does not exist that day.
    ['30 2 * * *', '2024-03-31T00:00:00Z', '2024-04-01T00:30:00Z', 'Europe/Berlin'],
    // Clocks go back from 3:00 to 2:00: the first 2:30 counts.
    ['30 2 * * *', '2024-10-26T23:00:00Z', '2024-10-27T00:30:00Z', 'Europe/Berlin'],
    // Midnight was skipped.
    ['0 0 * * *', '2018-11-03T12:00:00Z', '2018-11-05T02:00:00Z', 'America/Sao_Paulo'],
  ]
  for (const [schedule, after, next, zone] of cases) {
    assert.equal(shown(parseCronSchedule(schedule).next(at(after), zone)), next, `${schedule} after ${after}`)
  }
})

test('a day that begins twice or not at midnight has its activations, as going on by quarters of an hour finds them', () => {
  const zones = ['Africa/Cairo', 'Asia/Beirut', 'America/Santiago', 'America/Asuncion', 'America/Havana', 'Asia/Amman', 'Asia/Damascus']
  const minuteMs = 60_000
  const quarterMs = 15 * minuteMs
  for (const zone of [...zones, 'America/Sao_Paulo', 'Atlantic/Azores', 'America/Scoresbysund', 'America/St_Johns', 'Pacific/Apia']) {
    for (let year = 2008; year < 2028; year += zone === 'Africa/Cairo' ? 1 : 3) {
      const firstMs = Date.UTC(year, 0, 1)
      for (const [dayMs, midnights] of oddDays(zone, firstMs, Date.UTC(year + 1, 0, 1))) {
        const day = new Date(dayMs)
        const date = `${day.getUTCDate()} ${day.getUTCMonth() + 1}`
        const told = { zone, year, date, midnights }
        for (const afterMs of [dayMs - 5 * 86_400_000, dayMs - 20 * minuteMs, dayMs + 40 * minuteMs]) {
          for (const [minute, hour] of [
            ['0', '0'],
            ['*/30', '*'],
            ['15', '5'],
          ] as const) {
            let naiveMs = (Math.floor(afterMs / quarterMs) + 1) * quarterMs
            const isWanted = () => {
              const wall = new Date(naiveMs + offsetMs(naiveMs, zone))
              if (wall.getUTCDate() !== day.getUTCDate() || wall.getUTCMonth() !== day.getUTCMonth()) return false
              const isHour = hour === '*' || wall.getUTCHours() === Number(hour)
              return isHour && (minute === '*/30' ? wall.getUTCMinutes() % 30 === 0 : wall.getUTCMinutes() === Number(minute))
            }
            while (naiveMs < dayMs + 2 * 86_400_000 && !isWanted()) naiveMs += quarterMs
            const nextMs = parseCronSchedule(`${minute} ${hour} ${date} *`).next(afterMs, zone)
            if (isWanted()) assert.equal(shown(nextMs), shown(naiveMs), `${JSON.stringify(told)} ${minute} ${hour} after ${shown(afterMs)}`)
            else assert.ok(nextMs === undefined || nextMs >= naiveMs, JSON.stringify(told))
          }
        }
      }
    }
  }
})

test('a day that no month has is looked for in every zone, and not found', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    for (const schedule of ['0 0 31 4 *', '0 0 30 2 *'])
      assert.equal(parseCronSchedule(schedule).next(at('2024-01-01T00:00:00Z'), zone), undefined, zone)
    // Months are passed by one after the other.
    const next = parseCronSchedule('0 12 1 12 *').next(at('2017-01-01T12:00:00Z'), zone)
    assert.ok(Math.abs((next ?? 0) - at('2017-12-01T12:00:00Z')) <= 14 * 3_600_000, zone)
  }
})

const offsetMs = (ms: number, zone: string): number =>
  Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).offsetNanoseconds / 1e6

/** The days that clocks of the zone begin not at all or twice, by how many midnights they show. */
function oddDays(zone: string, fromMs: number, toMs: number): Map<number, number> {
  const odd = new Map<number, number>()
  for (let dayMs = fromMs; dayMs < toMs; dayMs += 86_400_000) {
    if (offsetMs(dayMs - 86_400_000, zone) === offsetMs(dayMs + 86_400_000, zone)) continue
    let midnights = 0
    for (let ms = dayMs - 86_400_000; ms < dayMs + 86_400_000; ms += 900_000) if (ms + offsetMs(ms, zone) === dayMs) midnights++
    if (midnights !== 1) odd.set(dayMs, midnights)
  }
  return odd
}

test('what is no schedule is refused in the words clients know', () => {
  const cases: [schedule: string, message: string][] = [
    ['', 'empty spec string'],
    ['x', 'expected exactly 5 fields, found 1: [x]'],
    ['* * * * * *', 'expected exactly 5 fields, found 6: [* * * * * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['0 0 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['30-10 * * * *', 'beginning of range (30) beyond end of range (10): 30-10'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['*/1/2 * * * *', 'too many slashes: */1/2'],
    ['*/-5 * * * *', 'negative number (-5) not allowed: -5'],
    ['a * * * *', 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
    ['@noon', 'unrecognized descriptor: @noon'],
    ['@every', 'unrecognized descriptor: @every'],
    ['@every 5', 'failed to parse duration @every 5: time: missing unit in duration "5"'],
    ['TZ=0', 'invalid schedule format: runtime error: slice bounds out of range [:-1]'],
    ['TZ=Mars/Base 0 0 * * *', 'provided bad location Mars/Base: unknown time zone Mars/Base'],
  ]
  for (const [schedule, message] of cases) assert.throws(() => parseCronSchedule(schedule), { message }, schedule)
})
