import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringFormat } from '#api/apiextensions/v1/schema/formats.ts'
import { prune } from '#api/apiextensions/v1/schema/prune.ts'
import { validateValue } from '#api/apiextensions/v1/schema/validate-value.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'

function faults(value: unknown, schema: V1JSONSchemaProps): string[] {
  const check = new Check(value)
  validateValue(check, schema)
  return check.errors.map(({ field, body }) => `${field}: ${body}`)
}

const spec = (size: V1JSONSchemaProps): V1JSONSchemaProps => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { size } } },
})

test('values are validated in the words of OpenAPI', () => {
  const at = 'spec.size in body'
  const cases: [unknown, V1JSONSchemaProps, string[]][] = [
    [5, { type: 'integer', minimum: 1, maximum: 10 }, []],
    [0, { type: 'integer', minimum: 1 }, [`spec.size: Invalid value: 0: ${at} should be greater than or equal to 1`]],
    [11, { type: 'integer', maximum: 10 }, [`spec.size: Invalid value: 11: ${at} should be less than or equal to 10`]],
    [10, { type: 'integer', maximum: 10, exclusiveMaximum: true }, [`spec.size: Invalid value: 10: ${at} should be less than 10`]],
    [7, { type: 'integer', multipleOf: 2 }, [`spec.size: Invalid value: 7: ${at} should be a multiple of 2`]],
    ['x', { type: 'integer' }, [`spec.size: Invalid value: "string": ${at} must be of type integer: "string"`]],
    [
      1.5,
      { type: 'integer' },
      [
        `spec.size: Invalid value: "number": ${at} must be of type integer: "number"`,
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.size',
      ],
    ],
    [
      2 ** 40,
      { type: 'integer', format: 'int32' },
      ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.size'],
    ],
    [1, { type: 'number' }, []],
    [null, { type: 'string' }, [`spec.size: Invalid value: "null": ${at} must be of type string: "null"`]],
    [null, { type: 'string', nullable: true }, []],
    [
      true,
      { 'x-kubernetes-int-or-string': true },
      [`spec.size: Invalid value: "boolean": ${at} must be of type integer,string: "boolean"`],
    ],
    ['abc', { type: 'string', maxLength: 2 }, ['spec.size: Too long: may not be more than 2 bytes']],
    ['', { type: 'string', minLength: 1 }, [`spec.size: Invalid value: "": ${at} should be at least 1 chars long`]],
    ['b', { type: 'string', pattern: '^a' }, [`spec.size: Invalid value: "b": ${at} should match '^a'`]],
    ['x', { type: 'string', format: 'ipv4' }, [`spec.size: Invalid value: "x": ${at} must be of type ipv4: "x"`]],
    ['x', { type: 'string', format: 'nobody-knows' }, []],
    [[1, 2, 3], { type: 'array', items: { type: 'integer' }, maxItems: 2 }, ['spec.size: Too many: 3: must have at most 2 items']],
    [
      [1, 'x'],
      { type: 'array', items: { type: 'integer' }, minItems: 3 },
      [
        'spec.size[1]: Invalid value: "string": spec.size[1] in body must be of type integer: "string"',
        `spec.size: Invalid value: 2: ${at} should have at least 3 items`,
      ],
    ],
    ['c', { type: 'string', enum: ['a', 'b'] }, ['spec.size: Unsupported value: "c": supported values: "a", "b"']],
    [{}, { type: 'object', required: ['k'] }, ['spec.size.k: Required value']],
    [
      { a: 1 },
      { type: 'object', additionalProperties: { type: 'string' } },
      ['spec.size.a: Invalid value: "integer": spec.size.a in body must be of type string: "integer"'],
    ],
    [{ a: 1, b: 2 }, { type: 'object', maxProperties: 1 }, ['spec.size: Too many: 2: must have at most 1 item']],
    [5, { type: 'integer', not: { minimum: 1 } }, ['<nil>: Invalid value: "": "spec.size" must not validate the schema (not)']],
    [
      5,
      { type: 'integer', oneOf: [{ minimum: 1 }, { minimum: 2 }] },
      ['<nil>: Invalid value: "": "spec.size" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [
      0,
      { type: 'integer', allOf: [{ minimum: 1 }] },
      [
        `spec.size: Invalid value: 0: ${at} should be greater than or equal to 1`,
        '<nil>: Invalid value: "": "spec.size" must validate all the schemas (allOf). None validated',
      ],
    ],
    [
      0,
      { type: 'integer', anyOf: [{ minimum: 1 }, { minimum: 2 }] },
      [
        '<nil>: Invalid value: "": "spec.size" must validate at least one schema (anyOf)',
        `spec.size: Invalid value: 0: ${at} should be greater than or equal to 1`,
      ],
    ],
  ]
  for (const [value, schema, expected] of cases) {
    assert.deepEqual(faults({ spec: { size: value } }, spec(schema)), expected, JSON.stringify([value, schema]))
  }
})

test('formats of texts', () => {
  const cases: Record<string, [good: string[], bad: string[]]> = {
    'date-time': [
      ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05.123+02:00'],
      ['2024-01-02', 'x'],
    ],
    date: [['2024-02-29'], ['2024-02-30x', '02.01.2024']],
    ipv4: [['1.2.3.4'], ['::1', 'x']],
    ipv6: [['::1'], ['1.2.3.4']],
    cidr: [['10.0.0.0/8'], ['10.0.0.0']],
    uuid: [['123e4567-e89b-12d3-a456-426614174000'], ['123']],
    byte: [['YWJj'], ['not base64!', '']],
    email: [['a@b.c'], ['a']],
    hostname: [
      ['a.example.com', 'host'],
      ['-a', ''],
    ],
    uri: [['https://x.y/z', '/path'], ['x y']],
    duration: [
      ['5m10s', '1h', '22 ns'],
      ['5', 'x'],
    ],
    isbn: [['0321751043', '978-0321751041'], ['0321751044']],
    creditcard: [['4111 1111 1111 1111'], ['4111 1111 1111 1112']],
    'k8s-short-name': [['abc'], ['a.b']],
    mac: [['01:23:45:67:89:ab'], ['01:23']],
  }
  for (const [format, [good, bad]] of Object.entries(cases)) {
    for (const text of good) assert.equal(stringFormat(format)?.(text), true, `${format} ${text}`)
    for (const text of bad) assert.equal(stringFormat(format)?.(text), false, `${format} ${text}`)
  }
})

test('pruning drops what no schema knows, and keeps what it is told to', () => {
  const cases: [unknown, V1JSONSchemaProps, unknown][] = [
    [{ a: 1, b: 2 }, { properties: { a: { type: 'integer' } } }, { a: 1 }],
    [{ a: { x: 1 } }, { additionalProperties: { type: 'object' } }, { a: {} }],
    [
      { a: { x: 1 }, b: 2 },
      { 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'object' } } },
      { a: {}, b: 2 },
    ],
    [[{ a: 1, b: 2 }], { items: { properties: { a: {} } } }, [{ a: 1 }]],
    [{ metadata: { x: 1 }, y: 1 }, { 'x-kubernetes-embedded-resource': true }, { metadata: { x: 1 } }],
    [{ l: [{ q: 1 }] }, { 'x-kubernetes-preserve-unknown-fields': true }, { l: [{ q: 1 }] }],
  ]
  for (const [value, schema, expected] of cases) {
    prune(value, schema)
    assert.deepEqual(value, expected)
  }
})
