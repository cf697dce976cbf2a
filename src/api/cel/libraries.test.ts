import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Environment } from '#api/cel/environment.ts'
import { CostExceeded } from '#api/cel/evaluate/frame.ts'
import { kubernetesLibraries } from '#api/cel/libraries.ts'
import { shown } from '#api/cel/testing/conformance-value.ts'
import { dyn } from '#api/cel/types/cel-type.ts'
import { valueOfJson } from '#api/cel/values/json.ts'

const environment = new Environment({ libraries: kubernetesLibraries, variables: { x: dyn, y: dyn } })

function answer(expression: string, x: unknown = null, y: unknown = null): string {
  const values = new Map([
    ['x', valueOfJson(x)],
    ['y', valueOfJson(y)],
  ])
  try {
    return shown(environment.compile(expression).evaluate((name) => values.get(name)).value)
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}

const tables: Record<string, [expression: string, answer: string][]> = {
  quantity: [
    ["quantity('500000G').isInteger()", 'true'],
    ["quantity('50k').asInteger()", '50000'],
    ["quantity('1.5').isInteger()", 'false'],
    ["quantity('9999999999999999999999999999999999999G').asInteger()", 'error: cannot convert value to integer'],
    ["quantity('50.703k').asApproximateFloat()", 'double(50703)'],
    ["quantity('200M').compareTo(quantity('0.2G'))", '0'],
    ["quantity('50M').isLessThan(quantity('50Mi'))", 'true'],
    ["quantity('50k').add(quantity('20k')) == quantity('70k')", 'true'],
    ["quantity('50k').sub(20).asInteger()", '49980'],
    ["sign(quantity('-5'))", '-1'],
    ["isQuantity('1.3Gi') && !isQuantity('1,3') && !isQuantity('')", 'true'],
    ["quantity('x')", "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ],
  ip: [
    ["ip('127.0.0.1').family()", '4'],
    ["ip('::1').family()", '6'],
    ["string(ip('2001:DB8::ABCD'))", '"2001:db8::abcd"'],
    ["ip.isCanonical('2001:DB8::ABCD')", 'false'],
    ["isIP('127.0.0.01')", 'false'],
    ["isIP('::ffff:1.2.3.4')", 'false'],
    ["isIP('fe80::1%eth0')", 'false'],
    ["ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified()", 'true'],
    ["ip('127.0.0.9').isLoopback() && ip('::1').isLoopback() && !ip('10.0.0.1').isLoopback()", 'true'],
    ["ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", 'true'],
    ["ip('169.254.169.254').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()", 'true'],
    ["ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()", 'true'],
    ["ip('127.0.0.1') == ip('127.0.0.1')", 'true'],
    ["ip('::ffff:1.2.3.4')", 'error: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'],
  ],
  cidr: [
    ["cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))", 'true'],
    ["cidr('192.168.0.0/24').containsIP('192.168.1.1')", 'false'],
    ["cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')", 'true'],
    ["cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/16'))", 'false'],
    ["string(cidr('192.168.0.7/24').masked())", '"192.168.0.0/24"'],
    ["string(cidr('192.168.0.7/24').ip())", '"192.168.0.7"'],
    ["cidr('::1/128').prefixLength()", '128'],
    ["isCIDR('192.168.0.0/24') && !isCIDR('192.168.0.0/') && !isCIDR('1.2.3.4/024')", 'true'],
    ["cidr('10.0.0.0/8').containsIP('::1')", 'false'],
  ],
  url: [
    ["url('https://user:pass@example.com:80/path').getHost()", '"example.com:80"'],
    [
      "url('https://a b.com/')",
      'error: URL parse error during conversion from string: parse "https://a b.com/": invalid character " " in host name',
    ],
    ["url('https://example.com:8080/a%20b?k=1&k=2').getHost()", '"example.com:8080"'],
    ["url('https://example.com:8080/').getPort()", '"8080"'],
    ["url('https://[::1]:80/').getHostname()", '"::1"'],
    ["url('https://example.com/with space/').getEscapedPath()", '"/with%20space/"'],
    ["url('https://example.com/?k1=a&k2=b&k2=c').getQuery()", '{"k1": ["a"], "k2": ["b", "c"]}'],
    ["url('/absolute').getScheme()", '""'],
    ["isURL('https://example.com/') && isURL('/a') && !isURL('relative') && !isURL('../x')", 'true'],
  ],
  lists: [
    ['[1, 2, 3].isSorted() && ![2, 1].isSorted() && [].isSorted()', 'true'],
    ['[1.5, 2.5].sum()', 'double(4)'],
    ["[duration('1m'), duration('1s')].sum() == duration('61s')", 'true'],
    ['[1, 3, 2].max() - [1, 3, 2].min()', '2'],
    ["['b', 'a'].min()", '"a"'],
    ['[].max()', 'error: max called on empty list'],
    ['[1, 2, 2, 3].indexOf(2) * 10 + [1, 2, 2, 3].lastIndexOf(2)', '12'],
    ["'abcb'.indexOf('b') * 10 + 'abcb'.lastIndexOf('b')", '13'],
    ['[3, 1, 2].sort()', '[1, 2, 3]'],
    ["[{'n': 2}, {'n': 1}].sortBy(e, e.n).map(e, e.n)", '[1, 2]'],
    ['[1, 2, 2, 1].distinct()', '[1, 2]'],
    ['[[1], [2, 3]].flatten()', '[1, 2, 3]'],
    ['lists.range(4).reverse().slice(1, 3)', '[2, 1]'],
    ['[1].slice(0, 2)', 'error: cannot slice(0, 2), list is length 1'],
    ['sets.contains([1, 2, 3], [2, 2]) && !sets.contains([1], [2])', 'true'],
    ['sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])', 'true'],
    ['[1, 2].first().value() + [1, 2].last().value()', '3'],
  ],
  regex: [
    ["'abc 123'.find('[0-9]+')", '"123"'],
    ["'abc'.find('[0-9]+')", '""'],
    ["'1 2 3'.findAll('[0-9]')", '["1", "2", "3"]'],
    ["'1 2 3'.findAll('[0-9]', 2)", '["1", "2"]'],
    ["'ABC'.matches('(?i)^a.c$')", 'true'],
    ["'a'.matches('(?<x>')", "error: ERROR: <input>:1:13: invalid matches argument\n | 'a'.matches('(?<x>')\n | ............^"],
  ],
  format: [
    ["format.dns1123Label().validate('my-label').hasValue()", 'false'],
    ["format.dns1123Label().validate('MY').value()[0].startsWith('a lowercase RFC 1123 label')", 'true'],
    ["format.named('uuid').value().validate('x').value()", '["does not match the UUID format"]'],
    ["format.named('nope').hasValue()", 'false'],
    ["format.date().validate('2024-02-30').value()", '["invalid date"]'],
    ["format.datetime().validate('2024-02-29T10:00:00Z').hasValue()", 'false'],
    ["format.byte().validate('aGk=').hasValue() || format.labelValue().validate('a').hasValue()", 'false'],
    ['format.uri() == format.uri() && format.uri() != format.uuid()', 'true'],
  ],
  semver: [
    ["semver('1.2.3').isLessThan(semver('1.2.4'))", 'true'],
    ["semver('1.0.0').compareTo(semver('1.0.0-alpha'))", '1'],
    ["semver('1.2.3').major() * 100 + semver('1.2.3').minor() * 10 + semver('1.2.3').patch()", '123'],
    ["isSemver('v1.0') || isSemver('1.01.0')", 'false'],
    ["semver('v1.01', true) == semver('1.1.0')", 'true'],
    ["isSemver('v1', true)", 'true'],
    ["semver('1.0')", 'error: No Major.Minor.Patch elements found'],
  ],
  strings: [
    ["'%s is %d'.format(['a', 1])", '"a is 1"'],
    ["'%s: %d%%'.format([dyn('a'), dyn(1)])", '"a: 1%"'],
    ["'a,b,,c'.split(',', 2)", '["a", "b,,c"]'],
    ["'hello'.replace('l', 'L', 1)", '"heLlo"'],
    ["'ab'.replace('', '-')", '"-a-b-"'],
    ["['a', 'b'].join('/')", '"a/b"'],
    ["strings.quote('a\"b')", '"\\"a\\\\\\"b\\""'],
    ["'Ünïcode'.upperAscii() + 'ABC'.lowerAscii()", '"ÜNïCODEabc"'],
  ],
  optionals: [
    ["x.?a.?b.orValue('none')", '"none"'],
    ["y.?a.?b.orValue('none')", '1'],
    ['y.?a.?b.optMap(v, v + 1).value()', '2'],
    ['[?x.?nope, ?y.?a.?b]', '[1]'],
    ["{?'k': x.?nope}", '{}'],
    ["y[?'nope'].hasValue() || x[?5].hasValue()", 'false'],
    ['x.nope.orValue(1)', 'error: no such key: nope'],
    ['optional.none().value()', 'error: optional.none() dereference'],
  ],
  'two variables': [
    ["{'a': 1, 'b': 2}.all(k, v, k < 'c' && v > 0)", 'true'],
    ['[10, 20].transformList(i, v, i * 100 + v)', '[10, 120]'],
    ["{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 10)", '{"b": 20}'],
    ["{'a': 'x'}.transformMapEntry(k, v, {v: k})", '{"x": "a"}'],
    ['[1, 2].existsOne(i, v, i == 0 && v == 1)', 'true'],
  ],
}
for (const [library, rows] of Object.entries(tables)) {
  for (const [expression, wanted] of rows) {
    test(`${library}: ${expression}`, () => assert.equal(answer(expression, {}, { a: { b: 1 } }), wanted))
  }
}

const failures: [string, unknown, string][] = [
  ['x.a', {}, 'no such key: a'],
  ['x[3]', [1], 'index out of bounds: 3'],
  ['x / 0', 1, 'division by zero'],
  ['x + 1', 'a', 'no such overload'],
  ['x.a.b', { a: 1 }, 'no such overload'],
  ['int(x)', 'a', "type conversion error from 'string' to 'int'"],
  ['x.a == 1 || x.b == 1', { a: 2 }, 'no such key: b'],
  ['duration(x)', 'a', "type conversion error from 'string' to 'google.protobuf.Duration'"],
]
for (const [expression, x, message] of failures) {
  test(`${expression} of ${JSON.stringify(x)} fails: ${message}`, () => assert.equal(answer(expression, x), `error: ${message}`))
}

test('what one side of a decision cannot tell, the other may', () => {
  for (const expression of ['x.nope || true', 'true || x.nope', '!(x.nope && false)', '[1, 0].exists(i, 1 / i > 0)']) {
    assert.equal(answer(expression, {}), 'true', expression)
  }
})

const costs: [string, unknown, number][] = [
  ['true', null, 0],
  ['x', true, 1],
  ['x.a.b', { a: { b: true } }, 3],
  ['has(x.a)', { a: 1 }, 1],
  ["x == 'abc'", 'abc', 2],
  ["x.startsWith('abcdefghijk')", 'abcdefghijkl', 3],
  ['x.all(e, e > 0)', [1, 2, 3], 17],
  ['x.map(e, e * 2)', [1, 2], 30],
  ["x.matches('^[a-z]+$')", 'abc', 3],
  ['[1, 2, 3]', null, 0],
  ['[1, 2, x]', 3, 11],
]
for (const [expression, x, cost] of costs) {
  test(`${expression} costs ${cost}`, () => {
    assert.equal(environment.compile(expression).evaluate((name) => (name === 'x' ? valueOfJson(x) : null)).cost, cost)
  })
}

test('a run that costs too much is ended, and nothing gets over that', () => {
  const program = environment.compile('x.all(a, x.all(b, x.all(c, a + b + c >= 0))) || true')
  const list = valueOfJson(Array.from({ length: 200 }, (_, index) => index))
  assert.throws(() => program.evaluate(() => list), CostExceeded)
})

test('long and deep expressions are refused rather than followed', () => {
  const depth = (text: string) => assert.throws(() => environment.compile(text), /recursion (?:limit|depth) exceeded/)
  depth(`${'('.repeat(300)}1${')'.repeat(300)}`)
  depth(`1${' + 1'.repeat(300)}`)
  depth(`x${'.a'.repeat(300)}`)
  assert.throws(
    () => environment.compile(`'${'a'.repeat(100_001)}'`),
    /expression code point size exceeds limit: size: 100003, limit 100000/,
  )
})
