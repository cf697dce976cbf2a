import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressNumber } from '#base/ip-range.ts'
import { isInRange, mergedRanges, rangeOf, rangeText, withoutRanges } from '#wire/nftables/address-ranges.ts'

const texts = (ranges: readonly (readonly [bigint, bigint])[]) => ranges.map((range) => rangeText(range, 'IPv4'))

test('ranges that overlap or touch become one', () => {
  assert.deepEqual(texts(mergedRanges(['10.0.1.0/24', '10.0.0.0/24', '10.0.0.128/25', '10.0.3.0/24', '10.0.5.7'].map(rangeOf))), [
    '10.0.0.0-10.0.1.255',
    '10.0.3.0-10.0.3.255',
    '10.0.5.7',
  ])
})

test('holes are cut out, at the edges and within', () => {
  const cut = (from: string[], holes: string[]) => texts(withoutRanges(from.map(rangeOf), holes.map(rangeOf)))
  assert.deepEqual(cut(['10.0.0.0/24'], ['10.0.0.0/26', '10.0.0.128/26']), ['10.0.0.64-10.0.0.127', '10.0.0.192-10.0.0.255'])
  assert.deepEqual(cut(['10.0.0.0/24', '10.2.0.0/24'], ['10.0.0.0/15', '10.2.0.1/32']), ['10.2.0.0', '10.2.0.2-10.2.0.255'])
  assert.deepEqual(cut(['10.0.0.0/24'], ['10.0.0.0/8']), [])
  assert.deepEqual(cut(['0.0.0.0/0'], ['0.0.0.0/1', '255.255.255.255/32']), ['128.0.0.0-255.255.255.254'])
})

test('ranges of both families, with host bits or without', () => {
  assert.deepEqual(rangeOf('2001:db8::/126'), [addressNumber('2001:db8::'), addressNumber('2001:db8::3')])
  assert.deepEqual(texts([rangeOf('10.0.0.77/24')]), ['10.0.0.0-10.0.0.255'])
  assert.equal(isInRange('10.0.0.0/8', '10.1.2.3'), true)
  assert.equal(isInRange('0.0.0.0/0', '::1'), false)
})
