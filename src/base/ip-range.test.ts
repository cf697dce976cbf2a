import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressNumber, addressText, contains, familyOf, firstAddress, parseRange, usable } from '#base/ip-range.ts'

for (const [range, first, count] of [
  ['10.96.0.0/16', '10.96.0.1', 65534n],
  ['10.96.7.3/16', '10.96.0.1', 65534n],
  ['192.168.0.0/30', '192.168.0.1', 2n],
  ['192.168.0.0/32', '192.168.0.1', 0n],
  ['fd00:1::/112', 'fd00:1::1', 65535n],
] as const) {
  test(`${range} begins with ${first} and has ${count} addresses to give`, () => {
    const parsed = parseRange(range)
    assert.equal(firstAddress(parsed), first)
    assert.equal(usable(parsed).count, count)
  })
}

for (const address of [
  '0.0.0.0',
  '10.96.0.1',
  '255.255.255.255',
  '::',
  '::1',
  'fd00::',
  'fd00:1::2',
  '1:2:3:4:5:6:7:8',
  '2001:db8::1:0:0:1',
  'ff02::fb',
]) {
  test(`${address} is the same after it was a number`, () => {
    assert.equal(addressText(addressNumber(address), familyOf(address)), address)
  })
}

test('an address with a dotted tail is the one it stands for', () => {
  assert.equal(addressText(addressNumber('::ffff:10.0.0.1'), 'IPv6'), '::ffff:a00:1')
})

test('a range contains its own family only', () => {
  assert.ok(contains(parseRange('10.0.0.0/8'), '10.255.0.1'))
  assert.ok(!contains(parseRange('10.0.0.0/8'), '11.0.0.0'))
  assert.ok(!contains(parseRange('::/0'), '10.0.0.1'))
})
