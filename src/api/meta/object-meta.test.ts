import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { Check } from './check.ts'
import { nameIsDns1123Subdomain, nameIsPathSegment } from './names.ts'
import { type ObjectMetaRules, validateObjectMeta, validateObjectMetaUpdate } from './object-meta.ts'

const namespaced: ObjectMetaRules = { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain }
const clustered: ObjectMetaRules = { scope: 'Cluster', nameRule: nameIsPathSegment }

const key =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

function errorsOf(validate: (check: Check<unknown>) => void): string[] {
  const check = new Check(undefined, 'metadata')
  validate(check)
  return check.errors.map(({ field, body }) => `${field}: ${body}`)
}

test('metadata is validated on create, in order', () => {
  const ok = { name: 'a', namespace: 'b' }
  const reference = { apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'u' }
  const cases: [V1ObjectMeta, ObjectMetaRules, string[]][] = [
    [ok, namespaced, []],
    [{ name: 'a' }, clustered, []],
    [{ name: 'a' }, namespaced, ['metadata.namespace: Required value']],
    [ok, clustered, ['metadata.namespace: Forbidden: not allowed on this type']],
    [{ namespace: 'b' }, namespaced, ['metadata.name: Required value: name or generateName is required']],
    [{ name: 'a', namespace: 'x.y' }, namespaced, ['metadata.namespace: Invalid value: "x.y": must not contain dots']],
    [{ name: '..' }, clustered, [`metadata.name: Invalid value: "..": may not be '..'`]],
    [
      { generateName: 'a/', name: 'a/b' },
      clustered,
      [`metadata.generateName: Invalid value: "a/": may not contain '/'`, `metadata.name: Invalid value: "a/b": may not contain '/'`],
    ],
    [{ ...ok, generation: -1 }, namespaced, ['metadata.generation: Invalid value: -1: must be greater than or equal to 0']],
    [{ ...ok, labels: { 'bad key!': 'v' } }, namespaced, [`metadata.labels: Invalid value: "bad key!": ${key}`]],
    [
      { ...ok, labels: { a: 'x'.repeat(64) } },
      namespaced,
      [`metadata.labels: Invalid value: "${'x'.repeat(64)}": must be no more than 63 bytes`],
    ],
    [{ ...ok, annotations: { 'Example.COM/A': 'v' } }, namespaced, []],
    [{ ...ok, annotations: { 'bad key!': 'v' } }, namespaced, [`metadata.annotations: Invalid value: "bad key!": ${key}`]],
    [{ ...ok, annotations: { a: 'x'.repeat(262143) } }, namespaced, []],
    [{ ...ok, annotations: { a: 'x'.repeat(262144) } }, namespaced, ['metadata.annotations: Too long: may not be more than 262144 bytes']],
    [
      { ...ok, ownerReferences: [{ apiVersion: 'a/b/c', kind: '', name: '', uid: '' }] },
      namespaced,
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      { ...ok, ownerReferences: [{ uid: 'u', name: 'x', kind: 'Event', apiVersion: 'v1' }] },
      namespaced,
      [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
      ],
    ],
    [
      {
        ...ok,
        ownerReferences: [
          { ...reference, controller: true },
          { ...reference, name: 'y', controller: true },
        ],
      },
      namespaced,
      [
        'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"y","uid":"u","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for Pod/x and Pod/y',
      ],
    ],
    [{ ...ok, finalizers: ['kubernetes', 'orphan', 'example.com/a'] }, namespaced, []],
    [
      { ...ok, finalizers: ['foregroundDeletion', 'orphan'] },
      namespaced,
      ['metadata.finalizers: Invalid value: ["foregroundDeletion","orphan"]: finalizer orphan and foregroundDeletion cannot be both set'],
    ],
    [
      { ...ok, finalizers: ['nodomain', '-'] },
      namespaced,
      [
        `metadata.finalizers: Invalid value: "-": ${key}`,
        'metadata.finalizers[0]: Invalid value: "nodomain": name is neither a standard finalizer name nor is it fully qualified',
        'metadata.finalizers[1]: Invalid value: "-": name is neither a standard finalizer name nor is it fully qualified',
      ],
    ],
    [{ ...ok, finalizers: ['nodomain'] }, { ...namespaced, finalizers: 'any' }, []],
    [
      {
        ...ok,
        managedFields: [
          { operation: 'Apply', manager: 'x', fieldsType: 'FieldsV1' },
          { operation: 'Nope', manager: 'é\u0007\u200b', fieldsType: 'V2', subresource: 's'.repeat(257) },
          { operation: 'Update', manager: 'm'.repeat(129) },
        ],
      },
      namespaced,
      [
        'metadata.managedFields[1].operation: Invalid value: "Nope": must be `Apply` or `Update`',
        'metadata.managedFields[1].fieldsType: Invalid value: "V2": must be `FieldsV1`',
        'metadata.managedFields[1].manager: Invalid value: "é\\a\\u200b": invalid character U+0007 (at position 2)',
        'metadata.managedFields[1].manager: Invalid value: "é\\a\\u200b": invalid character U+200B (at position 3)',
        'metadata.managedFields[1].subresource: Too long: may not be more than 256 bytes',
        'metadata.managedFields[2].manager: Too long: may not be more than 128 bytes',
      ],
    ],
  ]
  for (const [meta, rules, errors] of cases) {
    assert.deepEqual(
      errorsOf((check) => validateObjectMeta(check.with(meta), rules)),
      errors,
    )
  }
})

test('metadata that must stay is guarded on update', () => {
  const prev: V1ObjectMeta = {
    name: 'a',
    namespace: 'b',
    uid: 'u1',
    resourceVersion: '7',
    generation: 3,
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
  const deleted: V1ObjectMeta = { ...prev, deletionTimestamp: '2026-01-02T00:00:00Z', deletionGracePeriodSeconds: 30, finalizers: ['x/y'] }
  const cases: [next: V1ObjectMeta, prev: V1ObjectMeta, errors: string[]][] = [
    [{ ...prev, resourceVersion: '8', generation: 4, labels: { a: 'b' }, finalizers: ['x/y'] }, prev, []],
    [{ ...prev, creationTimestamp: '2026-01-01T01:00:00+01:00' }, prev, []],
    [{ ...prev, resourceVersion: '' }, prev, ['metadata.resourceVersion: Invalid value: "": must be specified for an update']],
    [{ ...prev, generation: 2 }, prev, ['metadata.generation: Invalid value: 2: must not be decremented']],
    [
      {
        ...prev,
        name: 'x',
        namespace: 'y',
        uid: 'z',
        creationTimestamp: '2026-01-03T00:00:00Z',
        deletionTimestamp: '2026-01-04T00:00:00Z',
        deletionGracePeriodSeconds: 1,
      },
      prev,
      [
        'metadata.name: Invalid value: "x": field is immutable',
        'metadata.namespace: Invalid value: "y": field is immutable',
        'metadata.uid: Invalid value: "z": field is immutable',
        'metadata.creationTimestamp: Invalid value: "2026-01-03T00:00:00Z": field is immutable',
        'metadata.deletionTimestamp: Invalid value: "2026-01-04T00:00:00Z": field is immutable',
        'metadata.deletionGracePeriodSeconds: Invalid value: 1: field is immutable',
      ],
    ],
    [
      { ...prev, resourceVersion: '8' },
      deleted,
      [
        'metadata.deletionTimestamp: Invalid value: null: field is immutable',
        'metadata.deletionGracePeriodSeconds: Invalid value: null: field is immutable',
      ],
    ],
    [{ ...deleted, finalizers: [] }, deleted, []],
    [
      { ...deleted, finalizers: ['x/y', 'x/c', 'x/b', 'x/c'] },
      deleted,
      [
        'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/b", "x/c"}',
      ],
    ],
    [{ ...prev, labels: { 'a b': '' } }, prev, [`metadata.labels: Invalid value: "a b": ${key}`]],
    [
      { ...prev, finalizers: ['bare'] },
      prev,
      ['metadata.finalizers[0]: Invalid value: "bare": name is neither a standard finalizer name nor is it fully qualified'],
    ],
  ]
  for (const [next, stored, errors] of cases) {
    assert.deepEqual(
      errorsOf((check) => validateObjectMetaUpdate(check.with(next), stored)),
      errors,
    )
  }
})
