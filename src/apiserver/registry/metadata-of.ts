import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'

/** The metadata of a private object, made where it is missing. */
export function metadataOf(object: KubernetesObject): V1ObjectMeta {
  object.metadata ??= {}
  return object.metadata
}
