import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RuleValidator } from '#api/apiextensions/v1/schema/rule-validator.ts'
import { validateDefaults } from '#api/apiextensions/v1/schema/validate-defaults.ts'
import type { V1JSONSchemaProps, V1ValidationRule } from '#api/apiextensions/v1/types.gen.ts'
import { celBudgets } from '#api/cel/cost-budgets.ts'
import { fieldErrorText } from '#api/meta/aggregate.ts'
import { Check } from '#api/meta/check.ts'
import { atOnce } from '#base/steps.ts'

type Schema = V1JSONSchemaProps

function validated(schema: Schema, value: unknown, old?: unknown): { errors: string[]; warnings: string[] } {
  const check = new Check()
  const warnings: string[] = []
  RuleValidator.of(schema)?.validate(value, old, { check, warn: (text) => warnings.push(text) })
  return { errors: check.errors.map(fieldErrorText), warnings }
}
const ruled = (schema: Schema, ...rules: (string | V1ValidationRule)[]): Schema => ({
  ...schema,
  'x-kubernetes-validations': rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
})
const object = (properties: Record<string, Schema>): Schema => ({ type: 'object', properties })
const number: Schema = { type: 'integer' }
const text: Schema = { type: 'string' }

const cases: [name: string, schema: Schema, value: unknown, errors: string[], old?: unknown][] = [
  ['a rule that holds says nothing', ruled(object({ min: number, max: number }), 'self.min <= self.max'), { min: 1, max: 2 }, []],
  [
    'one that does not, what it is',
    ruled(object({ min: number, max: number }), 'self.min <= self.max'),
    { min: 3, max: 2 },
    ['<nil>: Invalid value: failed rule: self.min <= self.max'],
  ],
  [
    'a message says it better',
    object({ a: ruled(number, { rule: 'self > 0', message: 'must be positive' }) }),
    { a: 0 },
    ['a: Invalid value: 0: must be positive'],
  ],
  [
    'one that is worked out, better still',
    object({ a: ruled(number, { rule: 'self > 0', messageExpression: "string(self) + ' is not positive'" }) }),
    { a: -1 },
    ['a: Invalid value: -1: -1 is not positive'],
  ],
  [
    'a reason and a path say where',
    ruled(object({ a: text, b: text }), {
      rule: 'has(self.a) == has(self.b)',
      fieldPath: '.b',
      reason: 'FieldValueRequired',
      message: 'goes with a',
    }),
    { a: 'x' },
    ['b: Required value: goes with a'],
  ],
  ['what is not there is not validated', object({ a: ruled(number, 'self > 0') }), {}, []],
  [
    'elements and entries are',
    object({
      l: { type: 'array', items: ruled(number, 'self > 0') },
      m: { type: 'object', additionalProperties: ruled(number, 'self > 0') },
    }),
    { l: [1, 0], m: { a: 1, b: 0 } },
    ['l[1]: Invalid value: 0: failed rule: self > 0', 'm[b]: Invalid value: 0: failed rule: self > 0'],
  ],
  [
    'a value may not change',
    object({ a: ruled(text, 'self == oldSelf') }),
    { a: 'y' },
    ['a: Invalid value: "y": failed rule: self == oldSelf'],
    { a: 'x' },
  ],
  ['but may begin', object({ a: ruled(text, 'self == oldSelf') }), { a: 'y' }, [], {}],
  [
    'an old value that may be missing is asked about on create too',
    object({ a: ruled(text, { rule: "oldSelf.hasValue() || self == 'first'", optionalOldSelf: true }) }),
    { a: 'y' },
    ['a: Invalid value: "y": failed rule: oldSelf.hasValue() || self == \'first\''],
  ],
  [
    'elements with keys are known by them',
    object({
      l: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: ruled(object({ k: text, v: number }), 'self.v >= oldSelf.v'),
      },
    }),
    {
      l: [
        { k: 'b', v: 1 },
        { k: 'a', v: 1 },
      ],
    },
    ['l[1]: Invalid value: failed rule: self.v >= oldSelf.v'],
    {
      l: [
        { k: 'a', v: 2 },
        { k: 'b', v: 1 },
      ],
    },
  ],
  [
    'sets have no order',
    object({ s: ruled({ type: 'array', items: text, 'x-kubernetes-list-type': 'set' }, "self == ['b', 'a']") }),
    { s: ['a', 'b'] },
    [],
  ],
  [
    'what fails is told',
    ruled(object({ a: number, b: number }), 'self.a / self.b > 0'),
    { a: 1, b: 0 },
    ['<nil>: Invalid value: "object": division by zero evaluating rule: self.a / self.b > 0'],
  ],
  [
    'numbers or texts are what they are',
    ruled(object({ p: { 'x-kubernetes-int-or-string': true } }), "type(self.p) == int ? self.p > 0 : self.p == 'http'"),
    { p: 'http' },
    [],
  ],
  [
    'times are times',
    ruled(object({ t: { type: 'string', format: 'date-time' } }), 'self.t.getFullYear() == 2024'),
    { t: '2024-05-01T00:00:00Z' },
    [],
  ],
  ['names are spelled in another way', ruled(object({ 'a-b': number }), 'self.a__dash__b == 1'), { 'a-b': 1 }, []],
  [
    'the name of the object is known',
    ruled(object({}), "self.metadata.name == 'x'"),
    { metadata: { name: 'y' } },
    ["<nil>: Invalid value: failed rule: self.metadata.name == 'x'"],
  ],
]
for (const [name, schema, value, errors, old] of cases) test(name, () => assert.deepEqual(validated(schema, value, old).errors, errors))

test('what was wrong before, and is as it was, may stay', () => {
  const schema = object({ a: ruled(number, 'self > 0'), b: text })
  assert.deepEqual(validated(schema, { a: 0, b: 'new' }, { a: 0 }), {
    errors: [],
    warnings: ['a: Invalid value: 0: failed rule: self > 0'],
  })
})

test('a schema without rules costs nothing', () => assert.equal(RuleValidator.of(object({ a: text })), undefined))

test('rules that take too much are the last ones', () => {
  const list: Schema = { type: 'array', items: number }
  const deep = 'self.l.all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))'
  const { errors } = validated(ruled(object({ l: list }), deep, 'false'), { l: Array.from({ length: 300 }, (_, index) => index) })
  const why = 'no further validation rules will be run due to call cost exceeds limit for rule'
  assert.deepEqual(errors, [`<nil>: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': ${why}: ${deep}`])
})

test('what one rule, and all of a request, may cost can be set', () => {
  const list = ruled(object({ l: { type: 'array', items: number } }), 'self.l.all(a, a >= 0)', 'self.l.exists(a, a == 0)')
  const value = { l: Array.from({ length: 100 }, (_, index) => index) }
  const before = { ...celBudgets }
  try {
    assert.deepEqual(validated(list, value).errors, [])
    celBudgets.perCall = 100
    assert.match(validated(list, value).errors.join(), /call cost exceeds limit for rule: self\.l\.all/)
    Object.assign(celBudgets, before, { perRequest: 100 })
    assert.match(validated(list, value).errors.join(), /validation failed due to running out of cost budget|cost budget/)
  } finally {
    Object.assign(celBudgets, before)
  }
})

test('a default must obey the rules it stands under', () => {
  const check = new Check()
  const schema = object({
    a: { ...ruled(number, { rule: 'self > 0', message: 'must be positive' }), default: 0 },
    b: { ...ruled(number, 'self > 0'), default: 1 },
  })
  atOnce(validateDefaults(check.with(schema), { mustBePruned: true }))
  assert.deepEqual(check.errors.map(fieldErrorText), ['properties[a].default: Invalid value: 0: must be positive'])
})
