import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Subject } from '#api/rbac/v1/types.gen.ts'
import { defaultSubject, subjectFromV1, subjectToV1 } from '#api/rbac/v1alpha1/subjects.ts'
import type { V1alpha1Subject } from '#api/rbac/v1alpha1/types.gen.ts'

const group = 'rbac.authorization.k8s.io'
const apiVersion = `${group}/v1alpha1`

test('subjects are told apart by group where they were by version', () => {
  const cases: [V1alpha1Subject, V1Subject, V1alpha1Subject][] = [
    [
      { kind: 'User', name: 'u' },
      { kind: 'User', name: 'u', apiGroup: group },
      { kind: 'User', name: 'u', apiVersion },
    ],
    [
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n', apiVersion: 'v1' },
    ],
    [
      { kind: 'Robot', name: 'r', apiVersion: 'example.com/v3' },
      { kind: 'Robot', name: 'r', apiGroup: 'example.com' },
      { kind: 'Robot', name: 'r', apiVersion: 'example.com/' },
    ],
    // Everybody with a name, and nobody of that name.
    [
      { kind: 'User', name: '*' },
      { kind: 'Group', name: 'system:authenticated', apiGroup: group },
      { kind: 'Group', name: 'system:authenticated', apiVersion },
    ],
  ]
  for (const [said, kept, shown] of cases) {
    defaultSubject(said)
    assert.deepEqual(subjectToV1(said), kept)
    assert.deepEqual(subjectFromV1(kept), shown)
  }
})
