import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { DecodeError } from './decode-error.ts'
import { decodeYaml, readYaml, readYamlDocuments, yamlPieces, yamlText } from './yaml.ts'

const configMap = 'io.k8s.api.core.v1.ConfigMap'
const bytes = (text: string): Uint8Array => Buffer.from(text)
const value = (text: string): unknown => readYaml(bytes(text)).value

test('scalars mean what they mean to Go’s YAML library', () => {
  const cases: [string, unknown][] = [
    ['yes', true],
    ['Off', false],
    ['y', true],
    ['tRue', 'tRue'],
    ['~', null],
    ['Null', null],
    ['1_000', 1000],
    ['0x1F', 31],
    ['014', 12],
    ['08', 8],
    ['0o17', 15],
    ['0b11', 3],
    ['+1', 1],
    ['1e3', 1000],
    ['1.0', 1],
    ['.5', 0.5],
    ['1e400', '1e400'],
    ['9223372036854775807', 9223372036854775807n],
    ['18446744073709551615', 18446744073709551615n],
    ['2024-01-01', '2024-01-01'],
    ['12:30:45', '12:30:45'],
    ['"1"', '1'],
    ["'yes'", 'yes'],
    ['!!str 5', '5'],
    ['!!int "7"', 7],
    ['!!binary aGVsbG8=', 'hello'],
    ['!foo bar', 'bar'],
    ['|\n  a\n   b\n', 'a\n b\n'],
    ['>-\n  a\n  b\n', 'a b'],
  ]
  for (const [text, expected] of cases) assert.deepEqual(value(`k: ${text}`), { k: expected }, text)
})

test('keys become text, merges and aliases are followed, and aliases are copies', () => {
  assert.deepEqual(value('1: a\ntrue: b\n1.5: c\n'), { 1: 'a', true: 'b', 1.5: 'c' })
  const merged = 'b: &b {p: 1, q: 2}\nc: {<<: *b, q: 3}\nd: {q: 9, <<: *b}\ne: {<<: [*b, {q: 7, r: 8}]}\n'
  assert.deepEqual(value(merged), { b: { p: 1, q: 2 }, c: { p: 1, q: 3 }, d: { q: 2, p: 1 }, e: { q: 2, r: 8, p: 1 } })
  const aliased = value('a: &x {k: 1}\nb: *x\n') as { a: object; b: object }
  assert.deepEqual(aliased, { a: { k: 1 }, b: { k: 1 } })
  assert.notEqual(aliased.a, aliased.b)
})

test('mistakes are told in the words of Go’s YAML library', () => {
  const cases: [string, string][] = [
    ['kind: [', 'yaml: line 1: did not find expected node content'],
    ['a\n  b: c\n- d', 'yaml: line 2: mapping values are not allowed in this context'],
    ['\tkind: ConfigMap', 'yaml: found character that cannot start any token'],
    ['a:\n  b: c: d\n', 'yaml: line 2: mapping values are not allowed in this context'],
    ['a: [b, c\n', "yaml: line 1: did not find expected ',' or ']'"],
    ['a: {b: c\n', "yaml: line 1: did not find expected ',' or '}'"],
    ['a:\n  b: 1\n c: 2\n', 'yaml: line 2: did not find expected key'],
    ['a: 1\nb: - c\n', 'yaml: line 2: block sequence entries are not allowed in this context'],
    ['a: 1\nb\n', "yaml: line 3: could not find expected ':'"],
    ['a: *nope\n', "yaml: unknown anchor 'nope' referenced"],
    ['a: &x {b: *x}\n', "yaml: anchor 'x' value contains itself"],
    ['a: .inf\n', 'json: unsupported value: +Inf'],
    ['~: b\n', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "b"'],
  ]
  for (const [text, message] of cases) assert.throws(() => readYaml(bytes(text)), new DecodeError(message), text)
})

test('only the first document of a request counts, all of a file', () => {
  const text = '---\na: 1\n---\n# nothing\n---\nb: 2\n'
  assert.deepEqual(value(text), { a: 1 })
  assert.deepEqual(
    readYamlDocuments(bytes(text)).map((document) => document.value),
    [{ a: 1 }, { b: 2 }],
  )
  assert.equal(value(''), null)
})

test('keys that come twice and unknown ones are told', () => {
  const { object, strictErrors } = decodeYaml(bytes('metadata: {name: a}\nnope: 1\ndata:\n  a: x\n  a: z\n'), configMap)
  assert.deepEqual(object, { metadata: { name: 'a' }, data: { a: 'z' } })
  assert.deepEqual(strictErrors, ['yaml: unmarshal errors:\n  line 5: key "a" already set in map', 'unknown field "nope"'])
  assert.throws(
    () => decodeYaml(bytes('data: {a: y}'), configMap),
    new DecodeError('json: cannot unmarshal bool into Go struct field ConfigMap.data of type string'),
  )
})

test('JSON that goes for YAML is read as JSON', () => {
  assert.deepEqual(value(' {"a":1,"b":[true,null,"x"]}'), { a: 1, b: [true, null, 'x'] })
  assert.deepEqual(readYaml(bytes('{"a":1,"a":2}')).duplicateError, 'yaml: unmarshal errors:\n  line 1: key "a" already set in map')
})

test('values are written as Go’s YAML library writes them', () => {
  const cases: [unknown, string][] = [
    [
      { kind: 'Status', code: 404, details: { name: 'y' }, metadata: {}, items: [] },
      'code: 404\ndetails:\n  name: "y"\nitems: []\nkind: Status\nmetadata: {}\n',
    ],
    [{ a: [1, { b: 'c', d: ['e'] }, ['f', 'g']] }, 'a:\n- 1\n- b: c\n  d:\n  - e\n- - f\n  - g\n'],
    [
      { t: '2024-01-01T00:00:00Z', n: null, f: 0.5, big: 9223372036854775807n },
      'big: 9223372036854775807\nf: 0.5\n"n": null\nt: "2024-01-01T00:00:00Z"\n',
    ],
    [
      ['', ' a', 'a: b', "it's: x", '- a', '#x', 'a#b', '1', 'null', 'a\tb', '\u{1F600}', 'é'],
      `- ""\n- ' a'\n- 'a: b'\n- 'it''s: x'\n- '- a'\n- '#x'\n- a#b\n- "1"\n- "null"\n- "a\\tb"\n- "\\U0001F600"\n- é\n`,
    ],
    [
      { a: 'x\ny\n', b: 'x\ny', c: 'x\n\n', d: ' x\ny\n', e: 'x \ny' },
      'a: |\n  x\n  y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: |2\n   x\n  y\ne: "x \\ny"\n',
    ],
    [{ 'k:{"name":"a"}': {}, '10': 1, '9': 2 }, '"9": 2\n"10": 1\nk:{"name":"a"}: {}\n'],
    [{ ['x'.repeat(129)]: 1 }, `? ${'x'.repeat(129)}\n: 1\n`],
    [{ a: 'word '.repeat(20).trim() }, `a: ${'word '.repeat(15)}word\n  word word word word\n`],
    [[1e21, 1234567.5, 0.00001, -5], '- 1e+21\n- 1.2345675e+06\n- 1e-05\n- -5\n'],
  ]
  for (const [each, text] of cases) assert.equal(yamlText(each), text)
})

test('what is written can be read back', () => {
  const seed = 20240501
  const random = seededRandom(seed)
  const alphabet = [
    'a',
    'b',
    ' ',
    '\n',
    ':',
    '-',
    '#',
    '"',
    "'",
    '\\',
    '\t',
    'é',
    '1',
    '.',
    '{',
    '[',
    ',',
    '\u{1F600}',
    'yes',
    '~',
    '!',
    '&',
    '*',
    '|',
    '%',
    '@',
    '`',
    '?',
    '<<',
  ]
  const text = (): string => Array.from({ length: random.int(12) }, () => alphabet[random.int(alphabet.length)]).join('')
  const make = (depth: number): unknown => {
    const kind = random.int(depth > 3 ? 4 : 6)
    if (kind < 2) return text()
    if (kind === 2) return random.int(2) === 0
    if (kind === 3) return random.int(2 ** 31) - 2 ** 30
    if (kind === 4) return Array.from({ length: random.int(4) }, () => make(depth + 1))
    return Object.fromEntries(
      Array.from({ length: random.int(4) }, (_, index) => [`${index}${text().replaceAll('<<', '')}`, make(depth + 1)]),
    )
  }
  for (let round = 0; round < 500; round++) {
    const original = { k: make(0) }
    const written = yamlText(original)
    let read: unknown
    try {
      read = value(written)
    } catch (error) {
      assert.fail(`seed ${seed}, round ${round}: ${error}\n${written}\n${JSON.stringify(original)}`)
    }
    assert.deepEqual(read, original, `seed ${seed}, round ${round}:\n${written}`)
  }
})

test('bombs of aliases and of depth are refused', () => {
  const levels = Array.from({ length: 20 }, (_, index) => `l${index + 1}: &l${index + 1} [${`*l${index},`.repeat(9)}*l${index}]`)
  assert.throws(() => readYaml(bytes(`l0: &l0 x\n${levels.join('\n')}\n`)), new DecodeError('yaml: document contains excessive aliasing'))
  const merges = Array.from({ length: 20 }, (_, index) => `l${index + 1}: &l${index + 1} {<<: [${`*l${index},`.repeat(9)}*l${index}]}`)
  assert.throws(
    () => readYaml(bytes(`l0: &l0 {a: b}\n${merges.join('\n')}\n`)),
    new DecodeError('yaml: document contains excessive aliasing'),
  )
  assert.throws(() => readYaml(bytes('['.repeat(100_000))), DecodeError)
  assert.throws(() => readYaml(bytes(`{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`)), DecodeError)
})

test('no mutation of YAML makes the reader fail in any other way than by refusing', () => {
  const seed = 7
  const random = seededRandom(seed)
  const original = Buffer.from('a: &x [1, "two", \'three\']\nb: {c: *x, <<: {d: e}}\nf: |\n  text\n---\ng: !!int "5"\n')
  for (let round = 0; round < 3000; round++) {
    const mutated = Buffer.from(original)
    for (let change = 0; change <= random.int(4); change++) mutated[random.int(mutated.length)] = random.int(256)
    try {
      readYamlDocuments(mutated)
    } catch (error) {
      assert.ok(error instanceof DecodeError, `seed ${seed}, round ${round}: ${error}`)
    }
  }
})

test('YAML of large values is made in pieces', () => {
  const size = 1_000_000
  const large: unknown[] = [
    'words and more '.repeat(size / 15),
    `${'words and more '.repeat(size / 15)}\u0001`,
    '"'.repeat(size),
    "# '".repeat(size / 3),
    'a\n'.repeat(size / 2),
    Array.from({ length: size / 10 }, (_, index) => `v${index}`),
    Object.fromEntries(Array.from({ length: size / 20 }, (_, index) => [`k${index}`, { a: index }])),
  ]
  for (const value of large) {
    const pieces = [...yamlPieces({ value })]
    assert.ok(pieces.length > 5, `${pieces.length} of ${JSON.stringify(value).slice(0, 30)}`)
    assert.equal(pieces.join(''), yamlText({ value }))
    assert.deepEqual(readYaml(Buffer.from(pieces.join(''))).value, { value })
  }
})

test('a text of a million digits is no number', () => {
  assert.equal(yamlText({ a: '1'.repeat(100) }), `a: "${'1'.repeat(100)}"\n`)
  assert.equal(yamlText({ a: `0${'0'.repeat(100)}7` }), `a: "0${'0'.repeat(100)}7"\n`)
})
