import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storageVersionMigrationResource } from '#api/storagemigration/v1beta1/storage-version-migration.ts'
import type { V1beta1StorageVersionMigration, V1beta1StorageVersionMigrationStatus } from '#api/storagemigration/v1beta1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const migration = (resource: string, group = 'apps'): V1beta1StorageVersionMigration => ({
  metadata: { name: 'a', resourceVersion: '1' },
  spec: { resource: { group, resource } },
})

test('a migration is of one resource, for ever', () => {
  assert.deepEqual(tryCreate(storageVersionMigrationResource, migration('deployments')).errors, [])
  assert.deepEqual(tryCreate(storageVersionMigrationResource, migration('')).errors, [
    'spec.resource.resource: Required value: resource is required to be set',
  ])
  assert.deepEqual(tryUpdate(storageVersionMigrationResource, migration('pods'), migration('jobs')).errors, [
    'spec: Invalid value: {"Resource":{"group":"apps","resource":"jobs"}}: field is immutable',
  ])
})

test('a migration ends once', () => {
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: 'R',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  })
  const write = (before: V1beta1StorageVersionMigrationStatus, status: V1beta1StorageVersionMigrationStatus) =>
    tryUpdate(
      storageVersionMigrationResource,
      { ...migration('pods'), status: before },
      { ...migration('pods'), status },
      { subresource: 'status' },
    ).errors
  const done = { conditions: [condition('Succeeded', 'True')] }
  assert.deepEqual(write({}, done), [])
  assert.match(
    write(done, { conditions: [condition('Succeeded', 'False')] })[0] ?? '',
    /: Success condition cannot be set to false once it is true$/,
  )
  assert.deepEqual(write({ resourceVersion: '5' }, { resourceVersion: '6' }), [
    'status.resourceVersion: Invalid value: "6": field is immutable',
  ])
  assert.deepEqual(tryRow(storageVersionMigrationResource, { ...migration('pods'), status: done }), {
    Name: 'a',
    Resource: 'pods.apps',
    Status: 'Succeeded',
  })
})
