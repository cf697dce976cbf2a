import type { KubernetesObject } from '#api/resource.ts'

export const foregroundFinalizer = 'foregroundDeletion'
export const orphanFinalizer = 'orphan'

export const deletesDependentsFirst = ({ metadata }: KubernetesObject): boolean =>
  metadata?.finalizers?.includes(foregroundFinalizer) ?? false

export const orphansDependents = ({ metadata }: KubernetesObject): boolean => metadata?.finalizers?.includes(orphanFinalizer) ?? false
