import facts from '#apiserver/authz/rbac/default-roles.gen.json' with { type: 'json' }
import { type ClusterRole, type RbacKind, type RoleBinding, rbacGroup, type Subject } from '#apiserver/authz/rbac/rbac-objects.ts'
import { autoUpdateAnnotation } from '#apiserver/authz/rbac/reconcile.ts'
import { defined } from '#base/defined.ts'

/** A role or a binding that every cluster has. */
export type DefaultObject =
  | { readonly kind: 'Role' | 'ClusterRole'; readonly object: Versioned<ClusterRole> }
  | { readonly kind: 'RoleBinding' | 'ClusterRoleBinding'; readonly object: Versioned<RoleBinding> }

type Versioned<T> = T & { readonly apiVersion: string; readonly kind: RbacKind }

type Fact = {
  kind: string
  namespace?: string
  name: string
  labels?: Record<string, string>
  rules?: ClusterRole['rules']
  aggregationRule?: NonNullable<ClusterRole['aggregationRule']>
  role?: string
  subjects?: string[]
}

/** In the order in which upstream makes them sure: cluster roles, their bindings, then those of namespaces. */
export function defaultRbacObjects(): DefaultObject[] {
  const order: readonly string[] = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']
  return (facts as Fact[]).map(defaultObject).sort((left, right) => order.indexOf(left.kind) - order.indexOf(right.kind))
}

export function defaultObject({ kind, namespace, name, labels, rules, aggregationRule, role, subjects }: Fact): DefaultObject {
  const head = {
    apiVersion: `${rbacGroup}/v1`,
    kind: kind as RbacKind,
    metadata: {
      name,
      ...defined({ namespace }),
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
      annotations: { [autoUpdateAnnotation]: 'true' },
    },
  }
  if (role === undefined) {
    const object = { ...head, rules, ...defined({ aggregationRule }) }
    return { kind: kind as 'Role' | 'ClusterRole', object }
  }
  const slash = role.indexOf('/')
  const roleRef = { apiGroup: rbacGroup, kind: role.slice(0, slash), name: role.slice(slash + 1) }
  const object = { ...head, roleRef, ...defined({ subjects: subjects?.map(subjectOf) }) }
  return { kind: kind as 'RoleBinding' | 'ClusterRoleBinding', object }
}

/** `User/name`, `Group/name` or `ServiceAccount/namespace/name`. */
function subjectOf(text: string): Subject {
  const [kind = '', ...rest] = text.split('/')
  if (kind === 'ServiceAccount') return { kind, name: rest[1] ?? '', namespace: rest[0] ?? '' }
  return { apiGroup: rbacGroup, kind, name: rest.join('/') }
}
