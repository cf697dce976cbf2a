import type { VersionSchema } from '#api/custom-kinds/version-schema.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'

/** Throws a StatusError where objects cannot be had in that version. */
export type ConvertObjects = (objects: readonly KubernetesObject[], to: ResourceDefinition) => Promise<KubernetesObject[]>

/** How objects are read, shown and owned whose type is told by a definition in the cluster. */
export type UntypedKind = {
  readonly schema: VersionSchema
  /** Changes with the definition. */
  readonly signature: string
  /** Of the same kind in another version, served or not, by `group/version`. */
  version(apiVersion: string): ResourceDefinition | undefined
  /** Whether objects are written in this version. */
  readonly isStorage: boolean
  /** The version that objects are written in. */
  storage(): ResourceDefinition
  /** Asks somebody for objects in another version, in their order. Absent where versions differ in their name alone. */
  readonly convert?: ConvertObjects | undefined
  /**
   * Brings what a client sent into shape, in place. Returns the paths of what the schema does not know. Throws `DecodeError`.
   */
  coerce(object: KubernetesObject): readonly string[]
  /**
   * The same for what was stored, perhaps under other rules: gives this very value where nothing had to be done, or a changed
   * copy. The object says this version, whatever it was stored in.
   */
  restore(object: KubernetesObject): KubernetesObject
  /** As `restore`, in place, of an object that says this version. What comes of it stays as it is when it is restored. */
  settle(object: KubernetesObject): void
}
