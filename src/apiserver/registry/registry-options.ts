/** What a registry is made of, and what an update is told. */
import type { KubernetesObject, ResourceDefinition, UpdateRules } from '#api/resource.ts'
import type { AdmissionChain } from '#apiserver/admission/admission.ts'
import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import type { FieldOwnership } from '#apiserver/registry/field-ownership.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import type { ObjectCache } from '#apiserver/watch-cache/object-cache.ts'
import type { Clock } from '#base/clock.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

export type EncodedValue = { canonical: KubernetesObject; value: Uint8Array }

export type RegistryOptions = {
  definition: ResourceDefinition
  cache: ObjectCache
  store: Store
  clock: Clock
  random: Random
  admission: Pick<AdmissionChain, 'mutate' | 'validate'>
  ownership: FieldOwnership
  hooks?: RegistryHooks
  isEnabled(featureGate: string): boolean
  /** The object in its kind's canonical form, and that as JSON, beginning with kind, apiVersion and metadata. Takes the object over. */
  encode(object: KubernetesObject, giveWay?: () => Promise<void> | undefined): EncodedValue | Promise<EncodedValue>
  /** Encryption at rest. */
  transformer?: ValueTransformer | undefined
  labelsOfNamespace?(namespace: string): Readonly<Record<string, string>> | undefined
  /** A lease for objects that expire by themselves. */
  lease?(): Promise<bigint>
}

/** Makes the next state from the current one; undefined as `prev` means the object does not exist yet. */
export type Transform<T extends KubernetesObject = KubernetesObject> = (prev: T | undefined) => T | Promise<T>

export type UpdateOptions<T extends KubernetesObject = KubernetesObject> = {
  transform: Transform<T>
  rules?: UpdateRules<T>
  /** Creates the object where it does not exist, whatever the kind's own rule: apply does. */
  createsIfMissing?: boolean
  /** Throws where the writer, who may change objects, may not create this one. Asked when all but validating admission is content with it. */
  authorizeCreate?: () => Promise<void>
  /** A conflicting write makes the transformation run again: patches and applies do. */
  retriesConflicts?: boolean
  /** A uid in the written object is a condition, as it is for a replacement; else it is a field like others, and immutable. */
  expectsUid?: boolean
  /** The writer owns what `transform` changes. Requests see to that themselves. */
  tracksFields?: boolean
}
