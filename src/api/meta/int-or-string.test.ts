import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPercent, parseIntOrString, scaledValue } from './int-or-string.ts'

test('percentages are taken of the total and rounded as asked', () => {
  const cases: [value: string | number, total: number, up: number, down: number][] = [
    [5, 10, 5, 5],
    ['25%', 10, 3, 2],
    ['50%', 10, 5, 5],
    ['0%', 10, 0, 0],
    ['1%', 1, 1, 0],
    ['99%', 100, 99, 99],
    ['150%', 10, 15, 15],
    ['-50%', 3, -1, -2],
    ['33%', 0, 0, 0],
  ]
  for (const [value, total, up, down] of cases) {
    assert.equal(scaledValue(value, total, 'up') + 0, up, `${value} of ${total} up`)
    assert.equal(scaledValue(value, total, 'down'), down, `${value} of ${total} down`)
  }
})

test('a text that is no percentage is refused', () => {
  assert.throws(() => scaledValue('5', 10, 'up'), { message: 'invalid value for IntOrString: invalid type: string is not a percentage' })
  assert.throws(() => scaledValue('x%', 10, 'up'), {
    message: 'invalid value for IntOrString: invalid value "x%": strconv.Atoi: parsing "x": invalid syntax',
  })
})

test('texts that are numbers become numbers', () => {
  const cases: [string, string | number][] = [
    ['80', 80],
    ['-1', -1],
    ['+1', 1],
    ['25%', '25%'],
    ['http', 'http'],
    ['2147483647', 2147483647],
    ['2147483648', '2147483648'],
    ['', ''],
  ]
  for (const [text, value] of cases) assert.equal(parseIntOrString(text), value)
  assert.equal(isPercent('5%'), true)
  assert.equal(isPercent('5'), false)
  assert.equal(isPercent(5), false)
})
