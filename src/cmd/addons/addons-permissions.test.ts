import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { ConfigMap, Node, Pod, Secret, Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { Ingress } from '#api/networking/v1/kinds.gen.ts'
import { ClusterRole, ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { addonsUser } from '#apiserver/authz/rbac/addons-roles.ts'
import { addonsIdentities } from '#apiserver/pki/identities.ts'
import { Client } from '#client/client.ts'
import { publishMetricsApi } from '#cmd/addons/serve-metrics-api.ts'
import { publishDnsService, withdrawDnsService } from '#cmd/dns/dns-service.ts'
import { grantLoadBalancerLeases } from '#cmd/load-balancer-leases.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

async function begun() {
  const cluster = await FakeCluster.start({ withoutNodes: true })
  return { cluster, addons: new Client({ transport: cluster.transportAs(addonsUser), userAgent: 'test' }) }
}

const how = { fieldManager: 'test', force: true }
const refused = /is forbidden/

test('the certificate of the add-ons is of the user that the roles are bound to', () => {
  assert.deepEqual(
    addonsIdentities.map(({ subject }) => subject),
    [{ commonName: addonsUser, organizations: [] }],
  )
})

test('the add-ons may do what they do: names, metrics, leases of load balancers, Ingress', async () => {
  const { cluster, addons } = await begun()
  await using _ = cluster
  assert.equal(await publishDnsService(addons, '10.96.0.10', { host: '10.0.0.1', port: 53 }), true)
  await publishMetricsApi(addons, { host: '10.0.0.1', port: 4443, authorityPem: 'PEM' })
  // By another machine, once more.
  await publishMetricsApi(addons, { host: '10.0.0.2', port: 4443, authorityPem: 'PEM' })
  const slice = await cluster.client.get(EndpointSlice, 'kube-system', 'metrics-server')
  assert.deepEqual(slice.endpoints?.[0]?.addresses, ['10.0.0.2'])
  await grantLoadBalancerLeases(addons)
  for (const kind of [Service, EndpointSlice, Secret, Ingress, Node, Pod, Lease]) await addons.list(kind as typeof Service)
  await withdrawDnsService(addons)
  await assert.rejects(cluster.client.get(Service, 'kube-system', 'kube-dns'), /not found/)
})

test('they may do nothing else: not what would give them more rights, and not to the services of others', async () => {
  const { cluster, addons } = await begun()
  await using _ = cluster
  const role = { metadata: { name: 'typernetes:aggregated-metrics-reader' }, rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] }
  await assert.rejects(addons.apply(ClusterRole, role, how), refused, 'a role that has more than they have')
  await assert.rejects(addons.apply(ClusterRole, { ...role, metadata: { name: 'mine' }, rules: [] }, how), refused)
  const binding = { metadata: { name: 'mine' }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' } }
  await assert.rejects(addons.apply(ClusterRoleBinding, binding, how), refused)
  const spec = { group: 'apps', version: 'v1', groupPriorityMinimum: 100, versionPriority: 100 }
  await assert.rejects(addons.apply(APIService, { metadata: { name: 'v1.apps' }, spec }, how), refused)
  const ports = [{ port: 80 }]
  await assert.rejects(addons.apply(Service, { metadata: { namespace: 'kube-system', name: 'mine' }, spec: { ports } }, how), refused)
  await assert.rejects(addons.create(Service, { metadata: { namespace: 'default', name: 'mine' }, spec: { ports } }), refused)
  const containers = [{ name: 'c', image: 'i' }]
  await assert.rejects(addons.create(Pod, { metadata: { namespace: 'kube-system', name: 'mine' }, spec: { containers } }), refused)
  await assert.rejects(addons.create(Secret, { metadata: { namespace: 'kube-system', name: 'mine' } }), refused)
  await assert.rejects(addons.list(ConfigMap), refused)
})

test('an APIService that somebody else has made stays', async () => {
  const { cluster, addons } = await begun()
  await using _ = cluster
  const metadata = { name: 'v1beta1.metrics.k8s.io' }
  const spec = { group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true }
  await cluster.client.create(APIService, { metadata, spec: { ...spec, service: { namespace: 'monitoring', name: 'theirs' } } })
  await publishMetricsApi(addons, { host: '10.0.0.1', port: 4443, authorityPem: 'PEM' })
  assert.equal((await cluster.client.get(APIService, '', metadata.name)).spec?.service?.name, 'theirs')
  await assert.rejects(cluster.client.get(Service, 'kube-system', 'metrics-server'), /not found/)
})
