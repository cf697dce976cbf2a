/** Makes of a definition what a built-in kind declares in its file: one value for each version. */

import type {
  V1CustomResourceDefinition,
  V1CustomResourceDefinitionNames,
  V1CustomResourceDefinitionSpec,
  V1CustomResourceDefinitionVersion,
  V1CustomResourceSubresourceScale,
} from '#api/apiextensions/v1/types.gen.ts'
import { customColumns } from '#api/custom-kinds/columns.ts'
import { integerAt, setAt, textAt } from '#api/custom-kinds/field-access.ts'
import { finalizerWarnings } from '#api/custom-kinds/finalizer-warnings.ts'
import { selectableFields } from '#api/custom-kinds/selectable-fields.ts'
import { untypedKind } from '#api/custom-kinds/untyped.ts'
import type { ConvertObjects } from '#api/custom-kinds/untyped-kind.ts'
import { validateChange, validateNew, validateStatusChange } from '#api/custom-kinds/validate-object.ts'
import { VersionSchema } from '#api/custom-kinds/version-schema.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import type { KubernetesObject, ResourceDefinition, ScaleRules, Subresources, UpdateRules } from '#api/resource.ts'
import { fillDefaults } from '#api/structural/defaults.ts'
import type { Fields } from '#api/structural/shape.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type CustomKindOptions = {
  /** Gives the definition anew: of what is seldom needed, schemas above all, nothing is kept. */
  read(): V1CustomResourceDefinition
  live: LiveState
  /** Of the definition's webhook, where it has one. */
  convert?: ConvertObjects | undefined
}

/** What may change while a kind is served, without its being another kind. */
export type LiveState = { isTerminating: boolean }

type CustomObject = KubernetesObject & { status?: unknown }

/** All versions, served or not, in their order; each is made when it is asked for, since there may be thousands. */
export function* customKinds(definition: V1CustomResourceDefinition, options: CustomKindOptions): Generator<ResourceDefinition> {
  const kinds = new Map<string, ResourceDefinition>()
  const { metadata, spec, status } = definition
  const { group, versions } = spec
  // Without the schemas, and emptied on the way: whatever a function names, it keeps, and these live as long as the kind does.
  const { name, uid, generation } = metadata
  const shared: Shared = { signature: `${uid} ${generation}`, spec: { ...spec, versions: [] }, names: status?.acceptedNames ?? spec.names }
  const missing = new Map(versions.map((version) => [`${group}/${version.name}`, version]))
  const storage = `${group}/${versions.find((version) => version.storage)?.name}`
  const family: Family = {
    find(apiVersion) {
      const version = missing.get(apiVersion)
      if (version !== undefined) {
        missing.delete(apiVersion)
        kinds.set(apiVersion, customKind(shared, version, family, options))
      }
      return kinds.get(apiVersion)
    },
    storage() {
      const kind = family.find(storage)
      if (kind === undefined) throw new Error(`${name} has no version that is stored`)
      return kind
    },
  }
  for (const apiVersion of [...missing.keys()]) {
    const kind = family.find(apiVersion)
    if (kind !== undefined) yield kind
  }
}

/** What all versions have. */
type Shared = { signature: string; spec: V1CustomResourceDefinitionSpec; names: V1CustomResourceDefinitionNames }
type Family = { find(apiVersion: string): ResourceDefinition | undefined; storage(): ResourceDefinition }

function customKind(
  { signature, spec, names }: Shared,
  version: V1CustomResourceDefinitionVersion,
  { find, storage }: Family,
  { read, live, convert }: CustomKindOptions,
): ResourceDefinition {
  const { group, scope, preserveUnknownFields = false } = spec
  const { plural, singular, kind, listKind, shortNames, categories } = names
  const { name, subresources, additionalPrinterColumns } = version
  const scale = subresources?.scale ?? undefined
  const load = () => read().spec.versions.find((each) => each.name === name)?.schema?.openAPIV3Schema
  const schema = new VersionSchema(load, preserveUnknownFields)
  const rules = { schema, scale }
  const hasStatus = subresources?.status != null
  return {
    group,
    version: name,
    kind,
    plural,
    scope: scope === 'Cluster' ? 'Cluster' : 'Namespaced',
    schema: '',
    storagePath: `${group}/${plural}`,
    ...omitEmpty({ singular, listKind, shortNames, categories }),
    ...defined({
      deprecated: version.deprecated
        ? { deprecatedIn: '', warning: version.deprecationWarning ?? `${group}/${name} ${kind} is deprecated` }
        : undefined,
    }),
    nameRule: nameIsDns1123Subdomain,
    finalizers: 'any',
    columns: customColumns(additionalPrinterColumns),
    fieldSelectors: selectableFields(version.selectableFields),
    generation: (next, prev) => !equalJson({ ...next, metadata: {} }, { ...prev, metadata: {} }),
    untyped: untypedKind({
      signature,
      schema,
      apiVersion: `${group}/${name}`,
      isStorage: version.storage,
      findVersion: find,
      storage,
      convert,
    }),
    defaults: (object) => fillDefaults(object, schema.shape),
    creationForbidden: () => (live.isTerminating ? 'create not allowed while custom resource definition is terminating' : undefined),
    validate: (object, check) => validateNew(object, rules, check),
    validateUpdate: (next, prev, check, { warn }) => validateChange(next, prev, rules, check, warn),
    warningsOnCreate: (object) => finalizerWarnings(object, undefined),
    warningsOnUpdate: (next, prev) => finalizerWarnings(next, prev),
    subresources: {
      ...defined({ status: hasStatus ? statusRules(rules) : undefined, scale: scale && scaleRules(scale) }),
    } as Subresources<KubernetesObject>,
  }
}

function statusRules(rules: Parameters<typeof validateStatusChange>[2]): UpdateRules<CustomObject> {
  return {
    resetFields: ['metadata', 'spec'],
    // Of the metadata not even what other kinds let a status write change.
    prepareForUpdate(next, prev) {
      const { managedFields: _, ...metadata } = deepCopy(prev.metadata ?? {})
      next.metadata = { ...metadata, ...defined({ managedFields: next.metadata?.managedFields }) }
    },
    validateUpdate: (next, prev, check, { warn }) => validateStatusChange(next, prev, rules, check, warn),
  }
}

function scaleRules({
  specReplicasPath,
  statusReplicasPath,
  labelSelectorPath,
}: V1CustomResourceSubresourceScale): ScaleRules<KubernetesObject> {
  return {
    replicasPath: specReplicasPath.replace(/^\./, ''),
    unscalable(object) {
      const { value, error } = integerAt(object, specReplicasPath)
      if (error !== undefined) return error
      return value === undefined ? `the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist` : undefined
    },
    replicas: (object) => integerAt(object, specReplicasPath).value ?? 0,
    setReplicas: (object, replicas) => setAt(object as Fields, specReplicasPath, replicas),
    statusReplicas: (object) => integerAt(object, statusReplicasPath).value ?? 0,
    selector: (object) => (labelSelectorPath ? (textAt(object, labelSelectorPath).value ?? '') : ''),
  }
}
