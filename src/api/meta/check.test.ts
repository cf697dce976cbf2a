import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Check, quoted } from './check.ts'

test('a path joins fields with dots and subscripts with brackets', () => {
  const root = new Check({
    metadata: { labels: { app: 'a' } },
    spec: { template: {}, containers: [{ name: 'a' }] },
    webhooks: [{ rules: [{}] }],
  })
  const cases: [Check<unknown>, string][] = [
    [root.at('spec'), 'spec'],
    [root.at('spec').at('template'), 'spec.template'],
    [root.at('spec').at('containers').at(0).at('name'), 'spec.containers[0].name'],
    [root.at('metadata').at('labels').key('a.b/c'), 'metadata.labels[a.b/c]'],
    [root.at('webhooks').at(2).at('rules').at(0), 'webhooks[2].rules[0]'],
    [new Check({ spec: {} }, 'template').at('spec'), 'template.spec'],
    [root.at('spec').dynamic('Template'), 'spec.Template'],
  ]
  for (const [check, path] of cases) assert.equal(check.path, path)
})

test('every kind of error is worded as clients know it', () => {
  const cases: [(check: Check<unknown>) => void, string, string][] = [
    [(check) => check.required(), 'FieldValueRequired', 'Required value'],
    [(check) => check.required('must be set'), 'FieldValueRequired', 'Required value: must be set'],
    [(check) => check.invalid('no quotes', 'a"b'), 'FieldValueInvalid', 'Invalid value: "a\\"b": no quotes'],
    [(check) => check.invalid('too small', -1), 'FieldValueInvalid', 'Invalid value: -1: too small'],
    [(check) => check.invalid('no', true), 'FieldValueInvalid', 'Invalid value: true: no'],
    [(check) => check.invalid('field is immutable', undefined), 'FieldValueInvalid', 'Invalid value: null: field is immutable'],
    [(check) => check.invalid('no', { a: ['<b>&'] }), 'FieldValueInvalid', 'Invalid value: {"a":["\\u003cb\\u003e\\u0026"]}: no'],
    [(check) => check.typeInvalid('must be a number', 'x'), 'FieldValueTypeInvalid', 'Invalid value: "x": must be a number'],
    [(check) => check.forbidden('not here'), 'FieldValueForbidden', 'Forbidden: not here'],
    [(check) => check.notFound('x'), 'FieldValueNotFound', 'Not found: "x"'],
    [(check) => check.duplicate({ name: 'x' }), 'FieldValueDuplicate', 'Duplicate value: {"name":"x"}'],
    [(check) => check.notSupported(['a', 'b'], 'x'), 'FieldValueNotSupported', 'Unsupported value: "x": supported values: "a", "b"'],
    [(check) => check.notSupported([], 'x'), 'FieldValueNotSupported', 'Unsupported value: "x"'],
    [(check) => check.tooLong(63), 'FieldValueTooLong', 'Too long: may not be more than 63 bytes'],
    [(check) => check.tooLong(1), 'FieldValueTooLong', 'Too long: may not be more than 1 byte'],
    [(check) => check.tooLong(-1), 'FieldValueTooLong', 'Too long: value is too long'],
    [(check) => check.tooLongCharacters(1), 'FieldValueTooLong', 'Too long: may not be more than 1 character'],
    [(check) => check.tooLongCharacters(2), 'FieldValueTooLong', 'Too long: may not be more than 2 characters'],
    [(check) => check.tooShort(1), 'FieldValueTooShort', 'Too short: must be at least 1 character'],
    [(check) => check.tooShort(-1), 'FieldValueTooShort', 'Too short: value is too short'],
    [(check) => check.tooMany(3, 2), 'FieldValueTooMany', 'Too many: 3: must have at most 2 items'],
    [(check) => check.tooMany(3, 1), 'FieldValueTooMany', 'Too many: 3: must have at most 1 item'],
    [(check) => check.tooMany(-1, 2), 'FieldValueTooMany', 'Too many: must have at most 2 items'],
    [(check) => check.tooMany(3, -1), 'FieldValueTooMany', 'Too many: 3: has too many items'],
    [(check) => check.tooFew(0, 1), 'FieldValueTooFew', 'Too few: 0: must have at least 1 item'],
    [(check) => check.tooFew(0, -1), 'FieldValueTooFew', 'Too few: 0: has too few items'],
    [(check) => check.internal('broken'), 'InternalError', 'Internal error: broken'],
  ]
  for (const [report, type, body] of cases) {
    const check = new Check({ spec: 1 })
    report(check.at('spec'))
    assert.deepEqual(check.errors, [{ type, field: 'spec', body }])
  }
})

test('an error at the root has the field <nil>', () => {
  const check = new Check({})
  check.required('a body')
  assert.equal(check.errors[0]?.field, '<nil>')
  assert.equal(check.failed, true)
})

test('texts are quoted as Go does', () => {
  const cases: [string, string][] = [
    ['', '""'],
    ['plain', '"plain"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['\u0007\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
    ['\u0000\u001b\u007f', '"\\x00\\x1b\\x7f"'],
    ['é世😀', '"é世😀"'],
    ['\u0085\u00a0\u00ad\u200b\u2028\ufeff', '"\\u0085\\u00a0\\u00ad\\u200b\\u2028\\ufeff"'],
    ['\u{e0001}', '"\\U000e0001"'],
  ]
  for (const [text, expected] of cases) assert.equal(quoted(text), expected)
})

type Workload = { spec: { replicas?: number; containers?: { name: string; image?: string }[]; labels?: { [key: string]: string } } }

test('a check goes down with the value, through what is not there as well', () => {
  const check = new Check<Workload>({ spec: { containers: [{ name: 'a' }, { name: 'b', image: 'x' }] } })
  assert.equal(check.at('spec').at('replicas').value, undefined)
  assert.equal(check.at('spec').at('labels').key('app').value, undefined)
  const containers = check.at('spec').at('containers')
  assert.equal(containers.at(1).at('image').value, 'x')
  assert.deepEqual(
    [...containers.items()].map((at) => [at.path, at.value.name]),
    [
      ['spec.containers[0]', 'a'],
      ['spec.containers[1]', 'b'],
    ],
  )
  const seen: string[] = []
  containers.each((at, index) => seen.push(`${index} ${at.at('name').value}`))
  assert.deepEqual(seen, ['0 a', '1 b'])
  // @ts-expect-error: a field that is not there does not compile
  check.at('spec').at('replica')
  // @ts-expect-error: nor does one of an item
  containers.at(0).at('images')
})

test('errors quote the value that stands there, unless given another', () => {
  const check = new Check<Workload>({ spec: { replicas: -1 } })
  const replicas = check.at('spec').at('replicas')
  replicas.invalid('too small')
  replicas.invalid('too small', undefined)
  replicas.with('1e3').invalid('no whole number')
  check.at('spec').at('containers').or([]).invalid('must not be empty')
  assert.deepEqual(
    check.errors.map(({ field, body }) => `${field}: ${body}`),
    [
      'spec.replicas: Invalid value: -1: too small',
      'spec.replicas: Invalid value: null: too small',
      'spec.replicas: Invalid value: "1e3": no whole number',
      'spec.containers: Invalid value: []: must not be empty',
    ],
  )
})

test('a rule that needs a value gets one: what is there, or what stands in for it', () => {
  const check = new Check<Workload>({ spec: {} })
  assert.equal(check.at('spec').at('replicas').or(1).value, 1)
  assert.equal(new Check<number | undefined>(0).or(1).value, 0)
  assert.equal(check.at('spec').present.value, check.value.spec)
  assert.throws(() => check.at('spec').at('replicas').present, /spec\.replicas is not set/)
})
