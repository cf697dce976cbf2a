import type { V1Scale } from '#api/autoscaling/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'

/** A version of a resource, and the way between it and the stored one. */
export type ServedVersion = {
  readonly definition: ResourceDefinition
  fromStored(object: KubernetesObject): KubernetesObject
  toStored(object: KubernetesObject): KubernetesObject
}

/** Keeps `metadata.managedFields` true as objects change. */
export type FieldOwnership = {
  /** Records in `next` that the writer owns what it changed. A promise where others were let in meanwhile. */
  afterUpdate(prev: KubernetesObject | undefined, next: KubernetesObject, context: WriteContext): void | Promise<void>
  /** Merges an applied configuration into the live object, in the served version, yet to be decoded; throws a conflict where others own what it sets. */
  apply(
    prev: KubernetesObject | undefined,
    configuration: Uint8Array,
    context: WriteContext,
    options: { force: boolean | undefined; fieldValidation: 'Ignore' | 'Warn' | 'Strict'; warn(text: string): void },
  ): Promise<KubernetesObject>
  /** The owners of the replicas, in terms of the Scale. */
  scaleEntries(object: KubernetesObject | undefined, context: WriteContext): V1ManagedFieldsEntry[] | undefined
  applyScale(current: V1Scale, configuration: Uint8Array, context: WriteContext, options: { force: boolean | undefined }): V1Scale
  /** As `afterUpdate`, for a write through the scale subresource. A Scale that was applied brings its owners along. */
  afterScale(prev: KubernetesObject | undefined, next: KubernetesObject, scale: V1Scale, context: WriteContext, wasApplied: boolean): void
  /** Where nothing but the times of managedFields would change, puts the old times back, so that the write is none. */
  keepTimesOfUnchanged(next: KubernetesObject, prev: KubernetesObject, kind: Pick<Kind, 'schema'>): void
}
