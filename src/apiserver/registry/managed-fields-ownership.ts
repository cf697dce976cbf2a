/** Field ownership by managedFields: one field manager for each version and endpoint of a resource. */

import type { V1Scale } from '#api/autoscaling/v1/types.gen.ts'
import { DecodeError } from '#api/codec/decode-error.ts'
import { readYaml } from '#api/codec/yaml.ts'
import type { UntypedKind } from '#api/custom-kinds/untyped-kind.ts'
import { allBut, type FieldFilter } from '#api/meta/apply/field-filter.ts'
import { FieldManager, keepTimesOfNoop } from '#api/meta/apply/field-manager.ts'
import { deducedType } from '#api/meta/apply/merge-type.ts'
import { entriesOfScale, entriesOfScaled } from '#api/meta/apply/scale-entries.ts'
import { emptyObject, mergeTypeOf } from '#api/meta/apply/schema-merge-type.ts'
import { typeErrors } from '#api/meta/apply/type-check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import { PatchError } from '#api/meta/patch/patch-error.ts'
import { resetFieldsOf } from '#api/meta/spec-and-status.ts'
import { badRequest } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import type { KubernetesObject, ResourceDefinition, UpdateRules } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { convert } from '#api/scheme.ts'
import type { FieldOwnership, ServedVersion } from '#apiserver/registry/field-ownership.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { inSteps, type Steps } from '#base/steps.ts'

export type OwnershipOptions = {
  clock: Clock
  /** The version of a stored kind that an entry speaks of; undefined where it is served no more. */
  findVersion?(stored: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined
}

export function managedFieldsOwnership({ clock, findVersion = () => undefined }: OwnershipOptions): FieldOwnership {
  const managers = new FieldManagers(findVersion)
  const now = () => formatTime(clock.now())

  function* track(prev: KubernetesObject | undefined, next: KubernetesObject, context: WriteContext): Steps<void> {
    const { served, fieldManager, subresource } = context
    const manager = managers.of(served, subresource)
    const options = { manager: fieldManager, time: now() }
    if (served.definition.storedAs === undefined) {
      yield* manager.updating(prev, next, options)
      return
    }
    const shown = served.fromStored(next)
    const before = prev && served.fromStored(prev)
    yield
    yield* manager.updating(before, shown, options)
    setManagedFields(next, shown.metadata?.managedFields)
  }

  return {
    afterUpdate: (prev, next, context) => inSteps(track(prev, next, context), context.giveWay),
    async apply(prev, configuration, context, { force = false, fieldValidation, warn }) {
      const { served, fieldManager, subresource } = context
      const { object: config, duplicates } = readConfiguration(configuration)
      await context.giveWay?.()
      const live = prev && served.fromStored(prev)
      await context.giveWay?.()
      const applying = managers.of(served, subresource).applying(live, config, { manager: fieldManager, time: now(), force })
      const result = await inSteps(applying, context.giveWay)
      if (duplicates !== undefined) {
        if (fieldValidation === 'Strict') throw badRequest(`error strict decoding YAML: ${duplicates}`)
        if (fieldValidation === 'Warn') warn(duplicates)
      }
      return result
    },
    scaleEntries: (object, { served }) => copied(entriesOfScale(object?.metadata?.managedFields, replicasPaths(served))),
    applyScale(current, configuration, context, { force = false }) {
      const { object: config } = readConfiguration(configuration)
      return managers.scale().applied(current, config, { manager: context.fieldManager, time: now(), force }) as V1Scale
    },
    afterScale(prev, next, scale, context, wasApplied) {
      const paths = replicasPaths(context.served)
      const before = prev?.metadata?.managedFields
      const changed = deepCopy(scale) as KubernetesObject
      if (!wasApplied) {
        const live =
          prev &&
          ({
            ...scaleShell(scale),
            metadata: scale.metadata,
            spec: { replicas: replicasOf(prev, context.served) },
          } as unknown as KubernetesObject)
        managers.scale().updated(live, changed, { manager: context.fieldManager, time: now() })
      }
      setManagedFields(
        next,
        copied(entriesOfScaled(before, changed.metadata?.managedFields, apiVersionOf(context.served.definition), paths)),
      )
    },
    keepTimesOfUnchanged: (next, prev, kind) => keepTimesOfNoop(prev, next, equalityOf(kind)),
  }
}

type FindVersion = NonNullable<OwnershipOptions['findVersion']>

class FieldManagers {
  readonly #known = new WeakMap<ResourceDefinition, Map<string, FieldManager>>()
  readonly #findVersion: FindVersion
  #scale: FieldManager | undefined

  constructor(findVersion: FindVersion) {
    this.#findVersion = findVersion
  }

  of(served: ServedVersion, subresource: string): FieldManager {
    const { definition } = served
    let bySubresource = this.#known.get(definition)
    if (bySubresource === undefined) {
      bySubresource = new Map()
      this.#known.set(definition, bySubresource)
    }
    let manager = bySubresource.get(subresource)
    if (manager === undefined) {
      manager = fieldManagerOf(served, subresource, this.#findVersion)
      bySubresource.set(subresource, manager)
    }
    return manager
  }

  scale(): FieldManager {
    const schema = schemaOf('io.k8s.api.autoscaling.v1.Scale')
    this.#scale ??= new FieldManager({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      type: mergeTypeOf(schema),
      empty: emptyObject(schema),
      subresource: 'scale',
    })
    return this.#scale
  }
}

function fieldManagerOf({ definition }: ServedVersion, subresource: string, findVersion: FindVersion): FieldManager {
  const stored = definition.storedAs?.definition ?? definition
  const rules = subresource === '' ? stored : (stored.subresources?.[subresource] as UpdateRules<KubernetesObject> | undefined)
  const reset = rules && resetFieldsOf(stored, rules)
  const schema = definition.schema === '' ? undefined : schemaOf(definition.schema)
  if (definition.untyped !== undefined) return untypedManager(definition, definition.untyped, subresource, reset)
  return new FieldManager({
    apiVersion: apiVersionOf(definition),
    kind: definition.kind,
    type: schema ? mergeTypeOf(schema) : deducedType,
    ...defined({ empty: schema && emptyObject(schema) }),
    subresource,
    ...defined({ filterAt: filterBut(reset) }),
    convert(object, apiVersion) {
      const other = findVersion(stored, apiVersion)
      if (other === undefined) return undefined
      const converted = convert(deepCopy(object) as KubernetesObject, definition, other) as JsonObject
      return { object: converted, type: other.schema === '' ? deducedType : mergeTypeOf(schemaOf(other.schema)) }
    },
  })
}

/** The same for all versions; worked out once. */
function filterBut(reset: readonly string[] | undefined): (() => FieldFilter) | undefined {
  if (reset === undefined || reset.length === 0) return undefined
  const filter = allBut(reset)
  return () => filter
}

/** Versions of a custom kind differ in what they are called, as far as owners go: a webhook is not asked for their sake. */
function untypedManager(
  definition: ResourceDefinition,
  untyped: UntypedKind,
  subresource: string,
  reset: readonly string[] | undefined,
): FieldManager {
  return new FieldManager({
    apiVersion: apiVersionOf(definition),
    kind: definition.kind,
    type: untyped.schema.mergeType,
    subresource,
    ...defined({ filterAt: filterBut(reset) }),
    mayMisfit: true,
    convert(object, apiVersion) {
      const type = untyped.version(apiVersion)?.untyped?.schema.mergeType
      if (type === undefined) throw new PatchError('internal', `request to convert CR to an invalid group/version: ${apiVersion}`)
      const renamed = { ...object, apiVersion }
      const errors = typeErrors(renamed, type, { duplicates: true })
      if (errors !== undefined) throw new Error(errors)
      return { object: renamed, type }
    },
  })
}

function copied<T>(entries: readonly T[] | undefined): T[] | undefined {
  return entries && [...entries]
}

function setManagedFields(object: KubernetesObject, managedFields: NonNullable<KubernetesObject['metadata']>['managedFields']): void {
  object.metadata ??= {}
  if (managedFields === undefined) delete object.metadata.managedFields
  else object.metadata.managedFields = managedFields
}

function readConfiguration(configuration: Uint8Array): { object: JsonObject; duplicates: string | undefined } {
  try {
    const { value, duplicateError } = readYaml(configuration)
    if (value !== null && value !== undefined && (typeof value !== 'object' || Array.isArray(value))) {
      throw new DecodeError(`json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type map[string]interface {}`)
    }
    return { object: (value ?? {}) as JsonObject, duplicates: duplicateError }
  } catch (error) {
    const message = errorMessage(error)
    const step = message.startsWith('yaml: ') ? 'error converting YAML to JSON' : 'error unmarshaling JSON: while decoding JSON'
    throw badRequest(`error decoding YAML: ${step}: ${message}`)
  }
}

function jsonTypeOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
}

function replicasPaths({ definition }: ServedVersion) {
  const { scale } = (definition.storedAs?.definition ?? definition).subresources ?? {}
  return { [apiVersionOf(definition)]: scale?.replicasPath ?? 'spec.replicas' }
}

function replicasOf(object: KubernetesObject, { definition }: ServedVersion): number {
  const { scale } = definition.subresources ?? {}
  return scale?.replicasPath === undefined ? ((object as { spec?: { replicas?: number } }).spec?.replicas ?? 0) : scale.replicas(object)
}

function scaleShell({ kind, apiVersion }: V1Scale) {
  return { kind: kind ?? 'Scale', apiVersion: apiVersion ?? 'autoscaling/v1' }
}
