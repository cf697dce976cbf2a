import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Random, seededRandom } from '#base/random.ts'
import { letGoOfSpareMemory } from '#base/spare-memory.ts'
import {
  canonicalQuantity,
  compareQuantities,
  isQuantity,
  milliQuantityOf,
  milliValueOf,
  parseQuantity,
  Quantity,
  quantityOf,
  wholeValueOf,
  zeroQuantity,
} from './quantity.ts'

test('a quantity is written back in canonical form', () => {
  const cases: [string, string][] = [
    ['0', '0'],
    ['0Ki', '0'],
    ['-0', '0'],
    ['1', '1'],
    ['100m', '100m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['1.', '1.'],
    ['1.5', '1500m'],
    ['1000', '1k'],
    ['1100', '1100'],
    ['10000', '10k'],
    ['100000', '100k'],
    ['8k', '8k'],
    ['0.0005k', '500m'],
    ['10.035M', '10.035M'],
    ['100.035k', '100.035k'],
    ['8.1k', '8100'],
    ['1Gi', '1Gi'],
    ['1024Mi', '1Gi'],
    ['1000Mi', '1000Mi'],
    ['1023Ki', '1023Ki'],
    ['0.5Gi', '512Mi'],
    ['1.5Ki', '1536'],
    ['0.05Gi', '53687091200m'],
    ['0.5Ki', '512'],
    ['1Pi', '1Pi'],
    ['7Ei', '7Ei'],
    ['9Ei', '9223372036854775807'],
    ['9223372036854775807Ki', '9223372036854775807'],
    ['12E', '12E'],
    ['1e3', '1e3'],
    ['1E3', '1E3'],
    ['10e2', '1e3'],
    ['1e-3', '1e-3'],
    ['1.3E+6', '1300e3'],
    ['1e14', '100e12'],
    ['-1.5', '-1500m'],
    ['-0.5Gi', '-512Mi'],
  ]
  for (const [text, canonical] of cases) assert.equal(canonicalQuantity(text), canonical, text)
})

test('a text that looks canonical comes back as it is, as odd as it may be', () => {
  for (const text of ['+1', '1.500', '00100m', '100.', '+5Gi', '01Gi', '1.Gi']) assert.equal(canonicalQuantity(text), text)
})

test('what is finer than a nano is rounded up, away from zero', () => {
  const cases: [string, string][] = [
    ['0.0000000001', '1n'],
    ['3.001n', '4n'],
    ['0.9n', '1n'],
    ['-0.9n', '-1n'],
    ['1.1E-9', '2e-9'],
    ['0.00000012345', '124n'],
    ['0.000000000001Ki', '2n'],
    ['1e-12', '1e-9'],
    ['0e-12', '0'],
  ]
  for (const [text, canonical] of cases) assert.equal(canonicalQuantity(text), canonical, text)
})

test('a text without digits is zero wherever upstream says so', () => {
  for (const text of ['.', '-', '+', '-.', 'e3', 'Mi', 'm']) assert.equal(canonicalQuantity(text), '0', text)
})

test('what is no quantity is refused in upstream words', () => {
  const format = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
  const cases: [string, string][] = [
    ['', format],
    ['1.1.M', format],
    ['1+1.0M', format],
    ['0.1am', format],
    ['1 ', format],
    [' 1', format],
    ['1e3.5', format],
    ['0.1mi', "unable to parse quantity's suffix"],
    ['.5i', "unable to parse quantity's suffix"],
    ['--1', "unable to parse quantity's suffix"],
    ['1-3', "unable to parse quantity's suffix"],
    ['-3.01e-', "unable to parse quantity's suffix"],
    ['1e', "unable to parse quantity's suffix"],
    ['1e99999999999999999999', "unable to parse quantity's suffix"],
    [`1e${'9'.repeat(100_000)}`, "unable to parse quantity's suffix"],
    ['.e-10', 'unable to parse numeric part of quantity'],
  ]
  for (const [text, message] of cases) {
    assert.throws(() => parseQuantity(text), { name: 'QuantityError', message }, text)
    assert.equal(isQuantity(text), false)
  }
})

test('numbers and texts with blanks around are taken from clients', () => {
  assert.equal(canonicalQuantity(2), '2')
  assert.equal(canonicalQuantity(0.1), '100m')
  assert.equal(canonicalQuantity(1e21), '1e+21')
  assert.equal(canonicalQuantity(' 1Gi\n'), '1Gi')
})

test('values are rounded away from zero', () => {
  const cases: [string, number, number][] = [
    ['0', 0, 0],
    ['1', 1, 1000],
    ['100m', 1, 100],
    ['1001m', 2, 1001],
    ['1u', 1, 1],
    ['-1001m', -2, -1001],
    ['1Gi', 2 ** 30, 2 ** 30 * 1000],
    ['2.5', 3, 2500],
    ['1e3', 1000, 1_000_000],
  ]
  for (const [text, whole, milli] of cases) {
    assert.equal(parseQuantity(text).value(), whole, text)
    assert.equal(parseQuantity(text).milliValue(), milli, text)
    assert.equal(wholeValueOf(text), whole)
    assert.equal(milliValueOf(text), milli)
  }
  assert.equal(wholeValueOf(undefined), 0)
  assert.equal(parseQuantity('1e30').scaledValue(0), 2n ** 63n - 1n)
  assert.equal(parseQuantity('-1e30').scaledValue(0), -(2n ** 63n))
})

test('sums keep the format of the left side, unless it is zero', () => {
  const cases: [string, string, string][] = [
    ['100m', '1Gi', '1073741824100m'],
    ['1Gi', '1Gi', '2Gi'],
    ['1Gi', '512Mi', '1536Mi'],
    ['1', '1Ki', '1025'],
    ['1Ki', '1024', '2Ki'],
    ['0', '1Ki', '1Ki'],
    ['900m', '100m', '1'],
    ['999', '1', '1k'],
    ['1e3', '1', '1001'],
    ['8Ei', '8Ei', '18446744073709551614'],
  ]
  for (const [one, other, sum] of cases) assert.equal(String(parseQuantity(one).add(parseQuantity(other))), sum, `${one}+${other}`)
  assert.equal(String(parseQuantity('1Gi').sub(parseQuantity('1Gi'))), '0')
  assert.equal(String(zeroQuantity.sub(parseQuantity('1Gi'))), '-1Gi')
  assert.equal(String(parseQuantity('1.500').add(zeroQuantity)), '1500m')
  assert.equal(String(parseQuantity('250m').mul(4)), '1')
})

test('quantities compare by value, whatever they are written like', () => {
  const cases: [string, string, -1 | 0 | 1][] = [
    ['1', '1000m', 0],
    ['1Gi', '1073741824', 0],
    ['10000T', '100Gi', 1],
    ['50m', '100m', -1],
    ['-1', '1m', -1],
    ['0', '-1n', 1],
    ['1e2000000000', '1', 1],
    ['-1e2000000000', '1e-9', -1],
    ['1e100', '10e99', 0],
    ['1e2000000000', '2e2000000000', -1],
  ]
  for (const [one, other, order] of cases) {
    assert.equal(compareQuantities(one, other), order, `${one} ${other}`)
    assert.equal(compareQuantities(other, one), order === 0 ? 0 : -order, `${other} ${one}`)
  }
})

test('numbers made in code print in their format', () => {
  const cases: [Quantity, string][] = [
    [quantityOf(2), '2'],
    [quantityOf(1024, 'BinarySI'), '1Ki'],
    [quantityOf(1000, 'BinarySI'), '1k'],
    [quantityOf(3n * 2n ** 60n, 'BinarySI'), '3Ei'],
    [milliQuantityOf(1500), '1500m'],
    [milliQuantityOf(2000), '2'],
    [new Quantity(1n, 21, 'DecimalSI'), '1e21'],
    [quantityOf(1000, 'DecimalExponent'), '1e3'],
  ]
  for (const [quantity, text] of cases) assert.equal(String(quantity), text)
})

test('hostile numbers cost little', () => {
  const digits = 1_000_000
  assert.throws(() => parseQuantity('1'.repeat(digits)), /numeric part/)
  assert.equal(canonicalQuantity(`0.${'1'.repeat(digits)}`), '111111112n')
  assert.equal(canonicalQuantity(`0.${'0'.repeat(digits)}1Ei`), '1n')
  assert.equal(canonicalQuantity(`${'9'.repeat(digits)}Ki`), '9223372036854775807')
  assert.equal(String(parseQuantity('1e2147483647').add(parseQuantity('1'))), '10e2147483646')
  assert.equal(parseQuantity('1e-2147483648').milliValue(), 1)
  for (const wrong of [`${'0'.repeat(digits)}x`, `0.${'0'.repeat(digits)}x`, `1${'k'.repeat(digits)}x`, `1e${'0'.repeat(digits)}x`])
    assert.throws(() => parseQuantity(wrong), /quantities must match/)
})

const suffixes = ['', '', '', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'Ti', 'u', 'n', 'e3', 'E-2', 'e1']

function randomQuantity(random: Random): string {
  const sign = random.int(5) === 0 ? '-' : ''
  const fraction = random.int(3) === 0 ? `.${random.int(10 ** random.int(7))}` : ''
  return `${sign}${random.int(10 ** random.int(9))}${fraction}${suffixes[random.int(suffixes.length)]}`
}

test('quantities obey arithmetic, and their canonical form says the same number', () => {
  const seed = 36
  const random = seededRandom(seed)
  for (let round = 0; round < 4000; round++) {
    const texts = [randomQuantity(random), randomQuantity(random), randomQuantity(random)]
    const [a = zeroQuantity, b = zeroQuantity, c = zeroQuantity] = texts.map(parseQuantity)
    const message = `seed ${seed} round ${round}: ${texts.join(' ')}`
    assert.ok(a.add(b).equals(b.add(a)), message)
    assert.ok(
      a
        .add(b)
        .add(c)
        .equals(a.add(b.add(c))),
      message,
    )
    assert.ok(a.add(b).sub(b).equals(a), message)
    assert.equal(a.compare(b), a.sub(b).sign, message)
    assert.ok(a.mul(3).equals(a.add(a).add(a)), message)
    for (const quantity of [a, a.add(b)]) {
      const again = parseQuantity(String(quantity))
      assert.ok(again.equals(quantity), `${message}: ${quantity}`)
      assert.equal(String(again), String(quantity), message)
    }
    assert.ok(Math.abs(a.value()) >= Math.abs(a.toNumber()) - 1e-6, message)
  }
})

test('texts that were read are forgotten by an idle process', () => {
  const read = parseQuantity('1234567')
  assert.equal(parseQuantity('1234567'), read)
  letGoOfSpareMemory()
  assert.notEqual(parseQuantity('1234567'), read)
  assert.deepEqual(parseQuantity('1234567'), read)
  assert.equal(parseQuantity('0'), zeroQuantity)
})
