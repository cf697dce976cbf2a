import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { ClusterRole, ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { Client } from '#client/client.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const how = { fieldManager: 'test', force: true }
const apiGroup = 'rbac.authorization.k8s.io'

test('who may patch and update creates nothing by it, unless they may create, too', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const admin = cluster.client
  const rule = { apiGroups: ['', 'coordination.k8s.io'], resources: ['configmaps', 'leases'] }
  const role = (verbs: string[]) => ({ metadata: { name: 'editor' }, rules: [{ ...rule, verbs }] })
  await admin.apply(ClusterRole, role(['patch', 'update', 'get']), how)
  const subjects = [{ apiGroup, kind: 'User', name: 'jane' }]
  await admin.create(ClusterRoleBinding, {
    ...{ metadata: { name: 'editor' }, roleRef: { apiGroup, kind: 'ClusterRole', name: 'editor' }, subjects },
  })
  await cluster.clock.settle()
  const jane = new Client({ transport: cluster.transportAs('jane', ['system:authenticated']), userAgent: 'test' })
  const place = (name: string) => ({ namespace: 'default', name })

  await assert.rejects(jane.apply(ConfigMap, { metadata: place('new'), data: { a: '1' } }, how), /configmaps "new" is forbidden/)
  await assert.rejects(jane.update(Lease, { metadata: place('new'), spec: {} }), /leases.coordination.k8s.io "new" is forbidden/)
  await admin.create(ConfigMap, { metadata: place('old') })
  assert.deepEqual((await jane.apply(ConfigMap, { metadata: place('old'), data: { a: '1' } }, how)).data, { a: '1' })

  await admin.apply(ClusterRole, role(['patch', 'update', 'get', 'create']), how)
  await cluster.clock.settle()
  await jane.apply(ConfigMap, { metadata: place('new'), data: { a: '1' } }, how)
  await jane.update(Lease, { metadata: place('new'), spec: {} })
})
