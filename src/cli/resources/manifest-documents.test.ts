import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manifestDocuments } from '#cli/resources/manifest-documents.ts'

const cases: readonly (readonly [what: string, text: string, found: readonly unknown[]])[] = [
  ['YAML', 'a: 1\n---\n---\nb: 2\n', [{ value: { a: 1 } }, { value: { b: 2 } }]],
  ['JSON', '{"a":1}', [{ value: { a: 1 } }]],
  [
    'JSON, one object after another',
    '{"a":"}{"}\n{"b":[{}]} {"c":3}',
    [{ value: { a: '}{' } }, { value: { b: [{}] } }, { value: { c: 3 } }],
  ],
  ['JSON with dashes between', '{"a":1}\n---\n{"b":2}\n', [{ value: { a: 1 } }, { value: { b: 2 } }]],
  ['JSON, and YAML after it', '{"a":1}\n---\nb: 2\n', [{ value: { a: 1 } }, { value: { b: 2 } }]],
  ['YAML that looks like JSON', '{a: 1}', [{ value: { a: 1 } }]],
  ['JSON that ends too early', '{"a":1}\n{"b"', [{ value: { a: 1 } }, { problem: 'unexpected EOF' }]],
  ['neither', '{"a" "b"}', [{ problem: `json: offset 6: invalid character '"' after object key` }]],
  [
    'one bracket too many',
    '{"a":1}}',
    [{ value: { a: 1 } }, { problem: `json: offset 8: invalid character '}' looking for beginning of value` }],
  ],
]
for (const [what, text, found] of cases) test(`manifests: ${what}`, () => assert.deepEqual(manifestDocuments(text), found))
