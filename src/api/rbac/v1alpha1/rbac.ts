import { type LegacyVersion, legacyVersion } from '#api/meta/legacy-version.ts'
import { clusterRoleResource } from '#api/rbac/v1/cluster-role.ts'
import { clusterRoleBindingResource } from '#api/rbac/v1/cluster-role-binding.ts'
import { roleResource } from '#api/rbac/v1/role.ts'
import { roleBindingResource } from '#api/rbac/v1/role-binding.ts'
import type { V1RoleBinding } from '#api/rbac/v1/types.gen.ts'
import { defaultSubject, subjectFromV1, subjectToV1 } from '#api/rbac/v1alpha1/subjects.ts'
import type { V1alpha1RoleBinding } from '#api/rbac/v1alpha1/types.gen.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { defined } from '#base/defined.ts'

const old = { version: 'v1alpha1', deprecated: { deprecatedIn: '1.17', removedIn: '1.23' } } as const

/** Of both kinds of bindings, which have the same shape. */
const binding: LegacyVersion<V1alpha1RoleBinding, V1RoleBinding> = {
  ...old,
  defaults({ subjects }) {
    for (const subject of subjects ?? []) defaultSubject(subject)
  },
  toStored: ({ subjects, ...shared }) => ({ ...shared, ...defined({ subjects: subjects?.map(subjectToV1) }) }),
  fromStored: ({ subjects, ...shared }) => ({ ...shared, ...defined({ subjects: subjects?.map(subjectFromV1) }) }),
}

export const rbacV1alpha1: readonly ResourceDefinition[] = [
  legacyVersion(clusterRoleBindingResource, binding),
  legacyVersion(clusterRoleResource, old),
  legacyVersion(roleBindingResource, binding),
  legacyVersion(roleResource, old),
]
