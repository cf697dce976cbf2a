import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storageVersionResource } from '#api/internal/v1alpha1/storage-version.ts'
import type { V1alpha1StorageVersionStatus } from '#api/internal/v1alpha1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const named = (name: string) => ({ metadata: { name, resourceVersion: '1' }, spec: {} })
const server = { apiServerID: 's', encodingVersion: 'apps/v1', decodableVersions: ['apps/v1'] }

test('the name is that of a resource', () => {
  assert.deepEqual(tryCreate(storageVersionResource, named('apps.deployments')).errors, [])
  assert.deepEqual(tryCreate(storageVersionResource, named('deployments')).errors, [
    'metadata.name: Invalid value: "deployments": name must be in the form of <group>.<resource>',
  ])
})

test('servers agree on a version, or there is none', () => {
  const cases: [V1alpha1StorageVersionStatus, string[]][] = [
    [{ storageVersions: [server], commonEncodingVersion: 'apps/v1' }, []],
    [{ storageVersions: [server] }, ['status.commonEncodingVersion: Invalid value: null: the common encoding version is apps/v1']],
    [
      {
        storageVersions: [server, { ...server, apiServerID: 't', encodingVersion: 'v2', decodableVersions: ['v2'] }],
        commonEncodingVersion: 'v2',
      },
      [
        'status.commonEncodingVersion: Invalid value: "v2": should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet',
      ],
    ],
    [
      { storageVersions: [{ ...server, decodableVersions: ['v2'] }], commonEncodingVersion: 'apps/v1' },
      ['status.storageVersions[0].decodableVersions: Invalid value: ["v2"]: decodableVersions must include encodingVersion apps/v1'],
    ],
  ]
  const prev = named('apps.deployments')
  for (const [status, errors] of cases) {
    assert.deepEqual(tryUpdate(storageVersionResource, prev, { ...prev, status }, { subresource: 'status' }).errors, errors)
  }
  assert.equal(tryRow(storageVersionResource, { ...prev, status: { storageVersions: [server] } })['StorageVersions'], 's=apps/v1')
})
