import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateRules } from '#api/apiextensions/v1/schema/validate-rules.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { fieldErrorText } from '#api/meta/aggregate.ts'
import { Check } from '#api/meta/check.ts'
import { atOnce } from '#base/steps.ts'

type Schema = V1JSONSchemaProps

function errorsOf(schema: Schema, isUnchanged = false): string[] {
  const check = new Check(schema)
  atOnce(validateRules(check, { expressions: new Set(), isUnchanged }))
  return check.errors.map(fieldErrorText)
}
const rules = (...texts: string[]) => ({ 'x-kubernetes-validations': texts.map((rule) => ({ rule })) })
const object = (properties: Record<string, Schema>, ...texts: string[]): Schema => ({ type: 'object', properties, ...rules(...texts) })
const quoted = (rule: string, more: object = {}) =>
  JSON.stringify({ Rule: rule, Message: '', MessageExpression: '', Reason: null, FieldPath: '', OptionalOldSelf: null, ...more })
const at = (index = 0) => `x-kubernetes-validations[${index}].rule`

const sound: [string, Schema][] = [
  [
    'fields of every type',
    object(
      { a: { type: 'integer' }, b: { type: 'number' }, c: { type: 'boolean' }, d: { type: 'string', maxLength: 5 } },
      'self.a > 0 && self.b < 1.5 && self.c && self.d == "x"',
    ),
  ],
  [
    'names that need another spelling',
    object(
      { 'a-b': { type: 'string' }, namespace: { type: 'string' }, c__d: { type: 'string' } },
      "self.a__dash__b == 'x' && self.__namespace__ == 'y' && self.c__underscores__d == 'z'",
    ),
  ],
  ['metadata of the root', object({}, "self.metadata.name.startsWith('a') && self.kind == 'X'")],
  [
    'times and durations',
    object(
      { a: { type: 'string', format: 'date-time' }, b: { type: 'string', format: 'duration' } },
      "self.a > timestamp('2024-01-01T00:00:00Z') && self.b < duration('1h')",
    ),
  ],
  ['numbers or texts', object({ port: { 'x-kubernetes-int-or-string': true } }, 'type(self.port) == string || self.port > 0')],
  [
    'lists with limits',
    object({
      l: { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 10 }, ...rules('self.all(x, self.exists_one(y, x == y))') },
    }),
  ],
  [
    'maps with limits',
    object({ m: { type: 'object', maxProperties: 10, additionalProperties: { type: 'integer' }, ...rules('self.all(k, self[k] > 0)') } }),
  ],
  ['what was before', object({ a: { type: 'string', maxLength: 10, ...rules('self == oldSelf') } })],
  [
    'what was before, in a list of maps',
    object({
      l: {
        type: 'array',
        maxItems: 5,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: object({ k: { type: 'string' } }, 'self.k == oldSelf.k'),
      },
    }),
  ],
]
for (const [name, schema] of sound) test(`rules may use ${name}`, () => assert.deepEqual(errorsOf(schema), []))

const wrong: [string, Schema, string[]][] = [
  ['a number is no answer', object({}, '1'), [`${at()}: Invalid value: ${quoted('1')}: cel expression must evaluate to a bool`]],
  [
    'a field that is not declared',
    object({ a: { type: 'string' } }, 'true', "self.b == 'x'"),
    [
      `${at(1)}: Invalid value: ${quoted("self.b == 'x'")}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 'x'\n | ....^`,
    ],
  ],
  [
    'a field of unknown type is not seen',
    object(
      { a: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, b: { 'x-kubernetes-preserve-unknown-fields': true } },
      'has(self.a) || has(self.b)',
    ),
    [
      `${at()}: Invalid value: ${quoted('has(self.a) || has(self.b)')}: compilation failed: ERROR: <input>:1:19: undefined field 'b'\n | has(self.a) || has(self.b)\n | ..................^`,
    ],
  ],
  [
    'elements of a list are not told from those they replace',
    object({ l: { type: 'array', maxItems: 3, items: { type: 'integer', ...rules('self >= oldSelf') } } }),
    [
      `properties[l].items.${at()}: Invalid value: "self >= oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within properties[l]`,
    ],
  ],
  [
    'a message must be a text',
    { type: 'object', 'x-kubernetes-validations': [{ rule: 'true', messageExpression: '1' }] },
    [
      `x-kubernetes-validations[0].messageExpression: Invalid value: ${quoted('true', { MessageExpression: '1' })}: messageExpression must evaluate to a string`,
    ],
  ],
  [
    'an old value that nobody asks for need not be optional',
    { type: 'object', 'x-kubernetes-validations': [{ rule: 'true', optionalOldSelf: true }] },
    ['x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule'],
  ],
]
for (const [name, schema, errors] of wrong) test(`${name}`, () => assert.deepEqual(errorsOf(schema), errors))

const advice = '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'

test('a rule that looks at everything twice costs too much without limits', () => {
  const schema = object({ a: { type: 'array', items: { type: 'string' }, ...rules('self.all(x, self.all(y, x == y))') } })
  assert.deepEqual(errorsOf(schema), [
    `properties[a].${at()}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${advice}`,
    `properties[a].${at()}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
    `<nil>: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${advice}`,
  ])
  assert.equal(errorsOf(schema, true).length, 2, 'what is stored may stay')
})

test('how much too much is said', () => {
  const schema = object({ a: { type: 'array', maxItems: 2000, items: { type: 'integer' }, ...rules('self.all(x, self.all(y, x == y))') } })
  const [first] = errorsOf(schema)
  assert.equal(first, `properties[a].${at()}: Forbidden: estimated rule cost exceeds budget by factor of 2.0x ${advice}`)
})
