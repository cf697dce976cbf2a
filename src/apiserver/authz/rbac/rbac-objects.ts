/** The part of the rbac.authorization.k8s.io/v1 kinds that evaluation reads. */

export type PolicyRule = {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[] | undefined
  readonly resources?: readonly string[] | undefined
  readonly resourceNames?: readonly string[] | undefined
  readonly nonResourceURLs?: readonly string[] | undefined
}

export type RbacMeta = {
  readonly name: string
  readonly namespace?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

export type Subject = {
  readonly kind: string
  readonly apiGroup?: string | undefined
  readonly name: string
  readonly namespace?: string | undefined
}

export type RoleRef = { readonly apiGroup: string; readonly kind: string; readonly name: string }

export type LabelSelector = {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
  readonly matchExpressions?:
    | readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] | undefined }[]
    | undefined
}

export type Role = { readonly metadata: RbacMeta; readonly rules?: readonly PolicyRule[] | null | undefined }
export type ClusterRole = Role & {
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] | undefined } | undefined
}
export type RoleBinding = {
  readonly metadata: RbacMeta
  readonly subjects?: readonly Subject[] | undefined
  readonly roleRef: RoleRef
}
export type ClusterRoleBinding = RoleBinding

export type RbacKinds = { Role: Role; ClusterRole: ClusterRole; RoleBinding: RoleBinding; ClusterRoleBinding: ClusterRoleBinding }
export type RbacKind = keyof RbacKinds

/**
 * Takes every change of roles and bindings, in order, from the watch cache.
 * Objects are shared and frozen: they are kept, not copied.
 */
export type RbacObjects = {
  upsert<K extends RbacKind>(kind: K, object: RbacKinds[K]): void
  /** `namespace` is empty for the cluster-scoped kinds. */
  remove(kind: RbacKind, namespace: string, name: string): void
}

export const rbacGroup = 'rbac.authorization.k8s.io'
