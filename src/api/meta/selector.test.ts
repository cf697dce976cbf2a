import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import {
  everything,
  labelSelectorFrom,
  labelSelectorFromMap,
  labelSelectorObject,
  labelSelectorText,
  labelsText,
  nothing,
  parseLabelSelector,
} from './selector.ts'

const key =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

test('a selector is printed sorted by key, and its values sorted', () => {
  const cases: [string, string][] = [
    ['', ''],
    [' ', ''],
    ['a', 'a'],
    ['!a', '!a'],
    ['! a', '!a'],
    ['a=b', 'a=b'],
    ['a==b', 'a==b'],
    ['a = b', 'a=b'],
    ['a!=b', 'a!=b'],
    ['a=', 'a='],
    ['a=,b=', 'a=,b='],
    ['z,a', 'a,z'],
    ['x in (c,a,b,a)', 'x in (a,b,c)'],
    ['x notin (b, a)', 'x notin (a,b)'],
    ['x in ()', 'x in ()'],
    ['x in (,)', 'x in ()'],
    ['x in (a,)', 'x in (,a)'],
    ['x in (,a)', 'x in (,a)'],
    ['x in (a,,b)', 'x in (,a,b)'],
    ['in in (in, notin)', 'in in (in,notin)'],
    ['notin=in', 'notin=in'],
    ['x>1,y<2', 'x>1,y<2'],
    ['example.com/a.b=c_d', 'example.com/a.b=c_d'],
    ['a\t\n=\rb', 'a=b'],
    ['a=b,a=c', 'a=b,a=c'],
  ]
  for (const [text, printed] of cases) assert.equal(String(parseLabelSelector(text)), printed, text)
})

test('what is no selector is refused in upstream words', () => {
  const cases: [string, string][] = [
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['!a in (b)', "found 'in', expected: ',' or 'end of string'"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a gt 1', "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"],
    ['a,', "found '', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['=a', "found '=', expected: !, identifier, or 'end of string'"],
    ['(', "found '(', expected: !, identifier, or 'end of string'"],
    ['a,=', "found '=', expected: identifier after ','"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!=a', "found '!=', expected: !, identifier, or 'end of string'"],
    ['a==(', "unable to parse requirement: found '(', expected: identifier"],
    ['a in', "unable to parse requirement: found '' expected: '('"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (=', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (b c', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a in (b,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['a in (b,=)', "unable to parse requirement: found '=', expected: ',', or identifier"],
    ['-a', `unable to parse requirement: <nil>: Invalid value: "-a": ${key}`],
    ['a>b', "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer"],
    [
      'a>99999999999999999999',
      "unable to parse requirement: values[0]: Invalid value: \"99999999999999999999\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
    [
      'a=b/c',
      "unable to parse requirement: values[0][a]: Invalid value: \"b/c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
  ]
  for (const [text, message] of cases) assert.throws(() => parseLabelSelector(text), { name: 'SelectorError', message }, text)
})

test('a selector matches labels', () => {
  const labels = { a: 'b', n: '5', empty: '' }
  const cases: [string, boolean][] = [
    ['', true],
    ['a=b', true],
    ['a=c', false],
    ['x=b', false],
    ['a!=c', true],
    ['a!=b', false],
    ['x!=b', true],
    ['a in (b,c)', true],
    ['a in (c,d)', false],
    ['x in (b)', false],
    ['a notin (c)', true],
    ['a notin (b,c)', false],
    ['x notin (b)', true],
    ['a', true],
    ['x', false],
    ['!x', true],
    ['!a', false],
    ['empty', true],
    ['empty=', true],
    ['x=', false],
    ['n>4', true],
    ['n>5', false],
    ['n<6', true],
    ['a>1', false],
    ['x<1', false],
    ['a=b,n=5', true],
    ['a=b,n=6', false],
    ['a=b,n,!x', true],
    ['a=b,n,x', false],
    ['constructor', false],
    ['!constructor', true],
    ['toString notin (a)', true],
  ]
  for (const [text, matches] of cases) assert.equal(parseLabelSelector(text).matches(labels), matches, text)
  assert.equal(parseLabelSelector('a').matches(undefined), false)
  assert.equal(parseLabelSelector('!a').matches(undefined), true)
})

test('an absent object selects nothing, an empty one everything', () => {
  assert.equal(labelSelectorFrom(undefined), nothing)
  assert.equal(labelSelectorFrom(null), nothing)
  assert.equal(labelSelectorFrom({}), everything)
  assert.equal(nothing.matches({ a: 'b' }), false)
  assert.equal(nothing.isEmpty, false)
  assert.equal(everything.isEmpty, true)
  assert.equal(String(nothing), '')
})

test('an object becomes a selector', () => {
  const selector = labelSelectorFrom({
    matchLabels: { z: '1', a: '2' },
    matchExpressions: [
      { key: 'm', operator: 'In', values: ['y', 'x'] },
      { key: 'b', operator: 'NotIn', values: ['c'] },
      { key: 'e', operator: 'Exists' },
      { key: 'd', operator: 'DoesNotExist', values: [] },
    ],
  })
  assert.equal(String(selector), 'a=2,b notin (c),!d,e,m in (x,y),z=1')
  assert.equal(selector.matches({ a: '2', e: '', m: 'y', z: '1' }), true)
  assert.equal(selector.matches({ a: '2', e: '', m: 'y', z: '1', d: '' }), false)
  assert.equal(selector.requiredValue('z'), '1')
  assert.equal(selector.requiredValue('b'), undefined)
  assert.equal(selector.requiredValue('m'), undefined)
})

test('a bad object is refused in upstream words', () => {
  const from =
    (operator: string, values: string[], name = 'a') =>
    () =>
      labelSelectorFrom({ matchExpressions: [{ key: name, operator, values }] })
  assert.throws(from('Nope', []), { message: '"Nope" is not a valid label selector operator' })
  assert.throws(from('In', []), { message: "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty" })
  assert.throws(from('Exists', ['x']), { message: 'values: Invalid value: ["x"]: values set must be empty for exists and does not exist' })
  assert.throws(from('In', [], '-'), {
    message: `[key: Invalid value: "-": ${key}, values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty]`,
  })
})

test('tables and maps', () => {
  assert.equal(labelSelectorText(undefined), '<none>')
  assert.equal(labelSelectorText({ matchLabels: { a: 'b' } }), 'a=b')
  assert.equal(labelSelectorText({ matchExpressions: [{ key: 'a', operator: 'x' }] }), '<error>')
  assert.equal(labelsText({ b: '1', a: '2' }), 'a=2,b=1')
  assert.equal(labelsText(undefined), '<none>')
  assert.equal(String(labelSelectorFromMap({ b: '1', a: '2' })), 'a=2,b=1')
  assert.equal(labelSelectorFromMap(undefined), everything)
})

test('text becomes the object form', () => {
  assert.deepEqual(labelSelectorObject('a=b,c in (d),!e,f'), {
    matchLabels: { a: 'b' },
    matchExpressions: [
      { key: 'c', operator: 'In', values: ['d'] },
      { key: 'e', operator: 'DoesNotExist', values: [] },
      { key: 'f', operator: 'Exists', values: [] },
    ],
  })
  assert.throws(() => labelSelectorObject('a='.repeat(2)), {
    message: `couldn't parse the selector string "a=a=": found '=', expected: ',' or 'end of string'`,
  })
})

test('a printed selector parses back to itself, and noise never crashes', () => {
  const seed = 11
  const random = seededRandom(seed)
  const pieces = ['a', 'b.c/d', 'in', 'notin', '=', '==', '!=', '!', '(', ')', ',', '>', '<', ' ', '1', '-', 'é', '\n']
  let parsed = 0
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from({ length: random.int(9) }, () => pieces[random.int(pieces.length)]).join('')
    let printed: string
    try {
      printed = String(parseLabelSelector(text))
    } catch (error) {
      assert.equal((error as Error).name, 'SelectorError', `seed ${seed} round ${round} ${text}`)
      continue
    }
    parsed++
    assert.equal(String(parseLabelSelector(printed)), printed, `seed ${seed} round ${round} ${text}`)
  }
  assert.ok(parsed > 1000)
})

test('however many requirements there are, each holds', () => {
  const random = seededRandom(7)
  const word = () => 'abc'[random.int(3)] as string
  const forms = [
    () => word(),
    () => `!${word()}`,
    () => `${word()}=${random.int(3)}`,
    () => `${word()}!=${random.int(3)}`,
    () => `${word()} in (${random.int(3)},${random.int(3)})`,
    () => `${word()} notin (${random.int(3)},)`,
    () => `${word()}>${random.int(2)}`,
    () => `${word()}<12345678901234567`,
  ]
  let matching = 0
  for (let round = 0; round < 3000; round++) {
    // All of them at once would match nothing, as a rule.
    const kinds = [forms[random.int(forms.length)], forms[3], forms[5]]
    const texts = Array.from({ length: 9 + random.int(20) }, () => kinds[random.int(kinds.length)]?.() ?? '')
    const labels = Object.fromEntries(Array.from({ length: random.int(4) }, () => [word(), String(random.int(9))]))
    const expected = texts.every((text) => parseLabelSelector(text).matches(labels))
    assert.equal(parseLabelSelector(texts.join(',')).matches(labels), expected, `${texts} of ${JSON.stringify(labels)}`)
    if (expected) matching++
  }
  assert.ok(matching > 50, `${matching}`)
})

test('thousands of requirements about labels that are not there are not looked at', () => {
  let reads = 0
  const labels = new Proxy({ app: 'web' } as Record<string, string>, {
    get: (target, key) => {
      reads++
      return target[key as string]
    },
  })
  const selector = parseLabelSelector(['app=web', ...Array.from({ length: 4000 }, (_, index) => `!no${index}`)].join(','))
  assert.equal(selector.matches(labels), true)
  assert.ok(reads < 10, `${reads}`)
})
