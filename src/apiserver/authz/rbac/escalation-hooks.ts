import type { KubernetesObject } from '#api/resource.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import { EscalationCheck } from '#apiserver/authz/rbac/escalation.ts'
import type { RbacAuthorizer } from '#apiserver/authz/rbac/rbac-authorizer.ts'
import { type ClusterRole, type RoleBinding, rbacGroup } from '#apiserver/authz/rbac/rbac-objects.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'

/** Stands before every write of a role or a binding; by `group/plural`. What the server itself writes at its start is not validated. */
export function escalationHooks(rbac: RbacAuthorizer, authorizer: Authorizer): [string, RegistryHooks][] {
  const check = new EscalationCheck(rbac, authorizer)
  const evaluating = (
    validate: (next: KubernetesObject, prev: KubernetesObject | undefined, context: WriteContext) => Promise<void>,
  ): RegistryHooks => ({
    async beginCreate(object, context) {
      if (!context.skipsAdmission) await validate(object, undefined, context)
      return undefined
    },
    async beginUpdate(next, prev, context) {
      if (!context.skipsAdmission) await validate(next, prev, context)
      return undefined
    },
  })
  const write = ({ user, namespace, giveWay }: WriteContext, prev: KubernetesObject | undefined) => ({
    user,
    namespace,
    requestName: prev?.metadata?.name ?? '',
    giveWay,
  })
  const roles = (resource: 'roles' | 'clusterroles') =>
    evaluating((next, prev, context) => check.role(write(context, prev), resource, next as ClusterRole, prev as ClusterRole | undefined))
  const bindings = (resource: 'rolebindings' | 'clusterrolebindings') =>
    evaluating((next, prev, context) => check.binding(write(context, prev), resource, next as RoleBinding, prev as RoleBinding | undefined))
  return [
    [`${rbacGroup}/roles`, roles('roles')],
    [`${rbacGroup}/clusterroles`, roles('clusterroles')],
    [`${rbacGroup}/rolebindings`, bindings('rolebindings')],
    [`${rbacGroup}/clusterrolebindings`, bindings('clusterrolebindings')],
  ]
}
