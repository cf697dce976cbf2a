import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMapResource } from '#api/core/v1/config-map.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const configMap = (given: object): V1ConfigMap => ({ metadata: { name: 'a', namespace: 'default', resourceVersion: '1' }, ...given })

test('config maps are validated in the words clients know', () => {
  const cases: [string, object, string[]][] = [
    ['a plain one', { data: { 'a.b-c_d': 'x' }, binaryData: { e: 'AA==' } }, []],
    [
      'a key with a slash',
      { data: { 'a/b': 'x' } },
      [
        "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      ],
    ],
    ['a key that climbs', { data: { '..': 'x' } }, ['data[..]: Invalid value: "..": must not be \'..\'']],
    [
      'a key twice',
      { data: { a: 'x' }, binaryData: { a: 'AA==' } },
      ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    ],
    ['more than a megabyte', { data: { a: 'é'.repeat(600_000) } }, ['[]: Too long: may not be more than 1048576 bytes']],
  ]
  for (const [name, given, errors] of cases) assert.deepEqual(tryCreate(configMapResource, configMap(given)).errors, errors, name)
})

test('what is immutable stays', () => {
  const prev = configMap({ immutable: true, data: { a: 'x' } })
  const message = 'Forbidden: field is immutable when `immutable` is set'
  assert.deepEqual(tryUpdate(configMapResource, prev, configMap({ immutable: true, data: { a: 'y' } })).errors, [`data: ${message}`])
  assert.deepEqual(tryUpdate(configMapResource, prev, configMap({ data: { a: 'x' } })).errors, [`immutable: ${message}`])
  assert.deepEqual(tryUpdate(configMapResource, configMap({ data: { a: 'x' } }), configMap({ data: { a: 'y' } })).errors, [])
  assert.equal(tryRow(configMapResource, configMap({ data: { a: '', b: '' }, binaryData: { c: '' } }))['Data'], 3)
})
