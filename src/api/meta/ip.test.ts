import assert from 'node:assert/strict'
import { isIPv4, isIPv6 } from 'node:net'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { Check } from './check.ts'
import * as ip from './ip.ts'

const bodies = (validate: (check: Check<unknown>) => void): string[] => {
  const check = new Check()
  validate(check)
  return check.errors.map((error) => error.body.replace(/^Invalid value: "[^"]*": /, ''))
}

test('an address is validated for strict, legacy and old fields', () => {
  const malformed = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
  const zeros = 'must not have leading 0s'
  const mapped = 'must not be an IPv4-mapped IPv6 address'
  const canonical = (text: string) => `must be in canonical form ("${text}")`
  const cases: [value: string, strict: string | undefined, legacy: string | undefined, lenient: string | undefined][] = [
    ['1.2.3.4', undefined, undefined, undefined],
    ['0.0.0.0', undefined, undefined, undefined],
    ['::', undefined, undefined, undefined],
    ['1234::abcd', undefined, undefined, undefined],
    ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined, undefined, undefined],
    ['1:2:3:4:5:6:7::', canonical('1:2:3:4:5:6:7:0'), undefined, undefined],
    ['0:0:0:0:0:0:0:0', canonical('::'), undefined, undefined],
    ['0001:002:03:4::', canonical('1:2:3:4::'), undefined, undefined],
    ['1234::ABCD', canonical('1234::abcd'), undefined, undefined],
    ['64:ff9b::1.2.3.4', canonical('64:ff9b::102:304'), undefined, undefined],
    ['1.1.1.01', zeros, zeros, undefined],
    ['001.1.1.1', zeros, zeros, undefined],
    ['00001::1', zeros, zeros, undefined],
    ['64:ff9b::1.2.03.4', zeros, zeros, undefined],
    ['::ffff:1.1.1.1', mapped, mapped, undefined],
    ['::ffff:101:101', mapped, mapped, undefined],
    ['::FFFF:1.1.1.01', zeros, zeros, undefined],
    ...['', 'aaaa', 'my.host', '1.2.3.0/24', '1.2.3.400', '-1.0.0.0', '1.2.3', '1.2.3.4.5', '1..2.3', '1.2.3.4:80'].map(
      (text): [string, string, string, string] => [text, malformed, malformed, malformed],
    ),
    ...[
      '2001:db8::10005',
      '[::1]',
      '1::2::3',
      ':1::2',
      '1:2:3:4:5:6:7:8::',
      '1:2:3:4:5:6:7::8',
      ':::',
      '1:',
      '::1%eth0',
      '1:2.3.4.5::',
    ].map((text): [string, string, string, string] => [text, malformed, malformed, malformed]),
  ]
  for (const [value, strict, legacy, lenient] of cases) {
    const list = (error: string | undefined) => (error === undefined ? [] : [error])
    assert.deepEqual(
      bodies((check) => ip.validIp(check.with(value))),
      list(strict),
      `strict ${value}`,
    )
    assert.deepEqual(
      bodies((check) => ip.ipForLegacyField(check.with(value))),
      list(legacy),
      `legacy ${value}`,
    )
    assert.deepEqual(
      bodies((check) => ip.ipForLegacyField(check.with(value), { strict: false })),
      list(lenient),
      `lenient ${value}`,
    )
    assert.deepEqual(
      bodies((check) => ip.ipForLegacyField(check.with(value), { known: new Set([value]) })),
      [],
      `known ${value}`,
    )
  }
})

test('a range is validated for strict and legacy fields, and as an interface address', () => {
  const malformed = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
  const zeros = 'must not have leading 0s in IP or prefix length'
  const mapped = 'must not have an IPv4-mapped IPv6 address'
  const bits = 'must not have bits set beyond the prefix length'
  const noInterface = 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)'
  const canonical = (text: string) => `must be in canonical form ("${text}")`
  const cases: [value: string, strict: string | undefined, legacy: string | undefined, face: string | undefined][] = [
    ['1.0.0.0/8', undefined, undefined, undefined],
    ['0.0.0.0/0', undefined, undefined, undefined],
    ['1.1.1.1/32', undefined, undefined, undefined],
    ['::/0', undefined, undefined, undefined],
    ['2001:4860:4860::/48', undefined, undefined, undefined],
    ['2001:0:0:0:0:0:0:0/64', canonical('2001::/64'), undefined, canonical('2001::/64')],
    ['1.2.3.4/24', bits, bits, undefined],
    ['2001:db8::1/64', bits, bits, undefined],
    ['1.2.03.0/24', zeros, zeros, canonical('1.2.3.0/24')],
    ['1.2.3.0/024', zeros, zeros, canonical('1.2.3.0/24')],
    ['::ffff:1.2.3.0/120', mapped, mapped, canonical('1.2.3.0/24')],
    ['::ffff:1.2.3.0/20', mapped, mapped, canonical('1.2.3.0/20')],
    ...['', '1.2.3.4', '1.2.3.0/33', '::/129', '1.2.3.0/', '1.2.3.0/-1', '1.2.3.0/24/8', 'a/8', '1.2.3.0/+8'].map(
      (text): [string, string, string, string] => [text, malformed, malformed, noInterface],
    ),
  ]
  const list = (error: string | undefined) => (error === undefined ? [] : [error])
  for (const [value, strict, legacy, face] of cases) {
    assert.deepEqual(
      bodies((check) => ip.validCidr(check.with(value))),
      list(strict),
      `strict ${value}`,
    )
    assert.deepEqual(
      bodies((check) => ip.cidrForLegacyField(check.with(value))),
      list(legacy),
      `legacy ${value}`,
    )
    assert.deepEqual(
      bodies((check) => ip.cidrForLegacyField(check.with(value), { strict: false })),
      legacy === malformed ? [malformed] : [],
      `lenient ${value}`,
    )
    assert.deepEqual(
      bodies((check) => ip.validInterfaceAddress(check.with(value))),
      list(face),
      `interface ${value}`,
    )
  }
})

test('odd addresses in old fields are warned about', () => {
  const cases: [string[], string[]][] = [
    [ip.warningsForIp('spec.ip', '1.2.3.4'), []],
    [ip.warningsForIp('spec.ip', '1.2.3.04'), ['spec.ip: non-standard IP address "1.2.3.04" is invalid: use "1.2.3.4"']],
    [ip.warningsForIp('spec.ip', '::ffff:1.2.3.4'), ['spec.ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"']],
    [
      ip.warningsForIp('spec.ip', '2001:db8:0:0::2'),
      ['spec.ip: IPv6 address "2001:db8:0:0::2" should be in RFC 5952 canonical format ("2001:db8::2")'],
    ],
    [ip.warningsForIp('spec.ip', 'None'), []],
    [ip.warningsForCidr('spec.net', '10.0.0.0/8'), []],
    [
      ip.warningsForCidr('spec.net', '10.0.0.1/8'),
      ['spec.net: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'],
    ],
    [
      ip.warningsForCidr('spec.net', '10.0.00.1/8'),
      [
        'spec.net: CIDR value "10.0.00.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
        'spec.net: non-standard CIDR value "10.0.00.1/8" is invalid: use "10.0.0.0/8"',
      ],
    ],
    [
      ip.warningsForCidr('spec.net', '2001:DB8::/64'),
      ['spec.net: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")'],
    ],
    [
      ip.warningsForCidr('spec.net', '::ffff:1.2.3.0/120'),
      ['spec.net: non-standard CIDR value "::ffff:1.2.3.0/120" is invalid: use "1.2.3.0/24"'],
    ],
  ]
  for (const [actual, expected] of cases) assert.deepEqual(actual, expected)
})

test('ranges contain addresses of their own family', () => {
  const contains = (range: string, address: string): boolean => {
    const cidr = ip.parseCidr(range)
    const bytes = ip.parseIp(address)
    assert.ok(cidr && bytes)
    return ip.cidrContains(cidr, bytes)
  }
  const cases: [string, string, boolean][] = [
    ['10.96.0.0/16', '10.96.255.1', true],
    ['10.96.0.0/16', '10.97.0.1', false],
    ['0.0.0.0/0', '1.2.3.4', true],
    ['::/0', '1.2.3.4', false],
    ['fd00::/8', 'fd12::1', true],
    ['fd00::/9', 'fd80::1', false],
  ]
  for (const [range, address, expected] of cases) assert.equal(contains(range, address), expected, `${range} ${address}`)
})

test('random addresses print in canonical form and parse back', () => {
  const seed = 7
  const random = seededRandom(seed)
  for (let round = 0; round < 2000; round++) {
    const bytes = random.bytes(16).map((byte) => (random.int(2) === 0 ? 0 : byte))
    if (random.int(4) === 0) bytes.set([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255])
    const text = ip.ipText(bytes)
    const message = `seed ${seed} round ${round} ${text}`
    assert.ok(isIPv4(text) || isIPv6(text), message)
    assert.deepEqual(ip.parseIp(text), bytes, message)
    if (isIPv6(text)) assert.equal(new URL(`http://[${text}]/`).hostname, `[${text}]`, message)
  }
})
