import type { KubernetesObject } from '#api/resource.ts'

export function addFinalizer(object: KubernetesObject | undefined, finalizer: string): void {
  if (object === undefined) return
  object.metadata ??= {}
  const { finalizers = [] } = object.metadata
  if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer]
}
