import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ageOf, humanDuration, shortHumanDuration } from '#api/meta/human-duration.ts'

test('durations are told as coarsely as they are long', () => {
  const second = 1000
  const minute = 60 * second
  const hour = 60 * minute
  const day = 24 * hour
  const cases: [number, string][] = [
    [-2 * second, '<invalid>'],
    [-1 * second, '0s'],
    [-500, '0s'],
    [0, '0s'],
    [119 * second, '119s'],
    [120 * second, '2m'],
    [9 * minute + 59 * second, '9m59s'],
    [10 * minute, '10m'],
    [179 * minute, '179m'],
    [180 * minute, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour, '8h'],
    [47 * hour, '47h'],
    [48 * hour, '2d'],
    [7 * day + 23 * hour, '7d23h'],
    [8 * day, '8d'],
    [729 * day, '729d'],
    [730 * day, '2y'],
    [731 * day, '2y1d'],
    [8 * 365 * day, '8y'],
    [20 * 365 * day + day, '20y'],
  ]
  for (const [ms, text] of cases) assert.equal(humanDuration(ms), text)
})

test('an object without a time of creation has an unknown age', () => {
  assert.equal(ageOf(undefined, 0), '<unknown>')
  assert.equal(ageOf('1970-01-01T00:00:10Z', 15_000), '5s')
})

test('a short duration has one unit', () => {
  const cases: [number, string][] = [
    [-2, '<invalid>'],
    [-1, '0s'],
    [59, '59s'],
    [60, '1m'],
    [3599, '59m'],
    [3600, '1h'],
    [86399, '23h'],
    [86400, '1d'],
    [364 * 86400, '364d'],
    [730 * 86400, '2y'],
  ]
  for (const [seconds, text] of cases) assert.equal(shortHumanDuration(seconds * 1000), text)
})
