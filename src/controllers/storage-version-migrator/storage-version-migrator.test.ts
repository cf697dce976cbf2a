import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { StorageVersion } from '#api/internal/v1alpha1/kinds.gen.ts'
import { defineKind } from '#api/kind.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { StorageVersionMigration } from '#api/storagemigration/v1beta1/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const start = () =>
  FakeCluster.start({
    withoutNodes: true,
    controllers: ['storage-version-migrator-controller', 'storage-version-gc'],
    featureGates: ['StorageVersionMigrator=true', 'StorageVersionAPI=true'],
    runtimeConfig: ['storagemigration.k8s.io/v1beta1=true', 'internal.apiserver.k8s.io/v1alpha1=true'],
  })

const Thing = defineKind<KubernetesObject>({ group: 'example.com', version: 'v1', kind: 'Thing', plural: 'things', scope: 'Namespaced' })

test('objects of a custom resource are written as the new storage version, and the old one is no longer stored', async () => {
  await using cluster = await start()
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const version = (name: string, storage: boolean) => ({ name, served: true, storage, schema })
  const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' }
  const metadata = { name: 'things.example.com' }
  const spec = { group: 'example.com', names, scope: 'Namespaced', versions: [version('v1', true), version('v2', false)] }
  await cluster.create(CustomResourceDefinition, { metadata, spec })
  await cluster.advance({ seconds: 2 })
  const before = new Map<string, string>()
  for (let index = 0; index < 20; index++) {
    const thing = await cluster.create(Thing, { metadata: { namespace: 'default', name: `t${index}` } })
    before.set(thing.metadata?.name ?? '', thing.metadata?.resourceVersion ?? '')
  }
  await cluster.change(CustomResourceDefinition, '', metadata.name, (definition) => {
    definition.spec.versions = [version('v1', false), version('v2', true)]
  })
  await cluster.advance({ seconds: 2 })
  assert.deepEqual((await cluster.get(CustomResourceDefinition, '', metadata.name)).status?.storedVersions, ['v1', 'v2'])
  const resource = { group: 'example.com', resource: 'things' }
  for (const name of ['first', 'second']) {
    await cluster.create(StorageVersionMigration, { metadata: { name }, spec: { resource } })
  }
  await cluster.advance({ seconds: 30 })
  for (const name of ['first', 'second']) {
    const { status } = await cluster.get(StorageVersionMigration, '', name)
    assert.equal(findCondition(status?.conditions, 'Succeeded')?.status, 'True', JSON.stringify(status))
    assert.equal(findCondition(status?.conditions, 'Running')?.status, 'False')
  }
  const definition = await cluster.get(CustomResourceDefinition, '', metadata.name)
  assert.deepEqual(definition.status?.storedVersions, ['v2'])
  assert.equal(findCondition(definition.status?.conditions, 'StorageMigrating')?.reason, 'MigrationSucceeded')
  for (const thing of await cluster.list(Thing, 'default')) {
    assert.notEqual(thing.metadata?.resourceVersion, before.get(thing.metadata?.name ?? ''), `${thing.metadata?.name} was not written anew`)
  }
})

test('a resource that is there already is not changed by a migration, and one that is nowhere fails it after a minute', async () => {
  await using cluster = await start()
  const map = await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'm' }, data: { a: 'b' } })
  const migration = (name: string, group: string, resource: string) =>
    cluster.create(StorageVersionMigration, { metadata: { name }, spec: { resource: { group, resource } } })
  await migration('maps', '', 'configmaps')
  await migration('nothing', 'example.com', 'nothings')
  await cluster.advance({ seconds: 30 })
  const stateOf = async (name: string, type: string) =>
    findCondition((await cluster.get(StorageVersionMigration, '', name)).status?.conditions, type)
  assert.equal((await stateOf('maps', 'Succeeded'))?.status, 'True')
  assert.deepEqual((await cluster.get(ConfigMap, 'default', 'm')).data, map.data)
  assert.equal(await stateOf('nothing', 'Failed'), undefined)
  await cluster.advance({ minutes: 3 })
  assert.equal((await stateOf('nothing', 'Failed'))?.message, 'migration encountered unhandled error: resource does not exist in discovery')
})

test('what servers said that are gone is forgotten', async () => {
  await using cluster = await start()
  const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' }
  const lease = (name: string) => cluster.create(Lease, { metadata: { namespace: 'kube-system', name, labels }, spec: {} })
  await lease('one')
  await lease('two')
  const server = (apiServerID: string, encodingVersion: string) => ({ apiServerID, encodingVersion, decodableVersions: [encodingVersion] })
  for (const [name, servers, common] of [
    ['apps.deployments', [server('one', 'apps/v1'), server('two', 'apps/v1beta1')], {}],
    ['apps.nothing', [server('two', 'apps/v1')], { commonEncodingVersion: 'apps/v1' }],
  ] as const) {
    const made = await cluster.create(StorageVersion, { metadata: { name }, spec: {} })
    await cluster.client.updateStatus(StorageVersion, { ...made, status: { storageVersions: [...servers], ...common } })
  }
  await cluster.advance({ seconds: 2 })
  assert.equal((await cluster.list(StorageVersion)).length, 2)
  await cluster.client.delete(Lease, { namespace: 'kube-system', name: 'two' })
  await cluster.advance({ seconds: 2 })
  const left = await cluster.list(StorageVersion)
  assert.deepEqual(
    left.map(({ metadata, status }) => [metadata.name, status?.commonEncodingVersion, status?.storageVersions?.length]),
    [['apps.deployments', 'apps/v1', 1]],
  )
})
