import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPlainlyValid } from '#api/apiextensions/v1/schema/plainly-valid.ts'
import { validateValue } from '#api/apiextensions/v1/schema/validate-value.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'

const values = ['', 'a', 'abc', '😀', '😀😀', '😀😀😀', 0, 1, 2, -1, 1.5, 2 ** 60, 10n, true, false, null, {}, []]

const schemas: V1JSONSchemaProps[] = [
  {},
  ...['string', 'integer', 'number', 'boolean', 'object', 'array'].map((type) => ({ type })),
  ...[0, 1, 2, 3].flatMap((length) => [
    { type: 'string', maxLength: length },
    { type: 'string', minLength: length },
  ]),
  { type: 'string', pattern: '^a' },
  { type: 'string', format: 'date' },
  { type: 'string', enum: ['abc'] },
  ...['integer', 'number'].flatMap((type) => [
    { type, minimum: 1 },
    { type, maximum: 1 },
    { type, minimum: 0.5 },
    { type, maximum: 1.5 },
    { type, minimum: 1, exclusiveMinimum: true },
    { type, maximum: 1, exclusiveMaximum: true },
    { type, multipleOf: 2 },
    { type, format: 'int32' },
    { type, not: { enum: [1] } },
    { type, anyOf: [{ minimum: 5 }] },
  ]),
  { 'x-kubernetes-int-or-string': true },
]

test('what is plainly valid has no faults', () => {
  let plain = 0
  for (const schema of schemas) {
    for (const value of values) {
      // As the item of a list: the road on which it is asked first.
      const faults = new Check<unknown>([value])
      validateValue(faults, { allOf: [{ items: { allOf: [schema] } }] } as V1JSONSchemaProps)
      if (!isPlainlyValid(value, schema)) continue
      plain++
      assert.deepEqual(faults.errors, [], `${JSON.stringify(schema)} ${String(value)}`)
    }
  }
  assert.ok(plain > 40, `${plain} of them were plain`)
})
