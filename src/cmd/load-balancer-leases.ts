import { loadBalancerLeaseNamespace } from '#api/core/v1/load-balancer-lease.ts'
import { Role, RoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import type { Client } from '#client/client.ts'

const role = 'typernetes:load-balancer'

/** Nodes say by leases that they still answer for addresses. */
export async function grantLoadBalancerLeases(client: Client): Promise<void> {
  const metadata = { name: role, namespace: loadBalancerLeaseNamespace }
  const apiGroup = 'rbac.authorization.k8s.io'
  const how = { fieldManager: 'typernetes', force: true }
  const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'patch', 'delete'] }]
  await client.apply(Role, { metadata, rules }, how)
  const subjects = [
    { apiGroup, kind: 'User', name: 'system:kube-proxy' },
    { apiGroup, kind: 'Group', name: 'system:nodes' },
  ]
  await client.apply(RoleBinding, { metadata, roleRef: { apiGroup, kind: 'Role', name: role }, subjects }, how)
}
