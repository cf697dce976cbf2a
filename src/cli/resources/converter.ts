/** Objects from one version of the API to another, by the rules that the server converts by. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { Scheme } from '#api/scheme.ts'
import type { ApiObject } from '#cli/call.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'

export class Converter {
  readonly #scheme: Scheme

  constructor(kinds: Iterable<ResourceDefinition>) {
    this.#scheme = new Scheme(kinds)
  }

  /** In the version that is wanted, else in the one its group prefers; why not, where that has no such kind. Undefined: no kind we know. */
  convert(object: ApiObject, wanted: string): ApiObject | string | undefined {
    const definition = this.#scheme.of(object as KubernetesObject)
    if (definition === undefined) return undefined
    const stored = storedForm(definition, deepCopy(object) as KubernetesObject)
    const target = wanted === '' ? this.#preferred(stored.definition) : this.#named(definition.kind, wanted)
    if (target === undefined || (target.storedAs === undefined && !sameKind(target, stored.definition)))
      return `${stored.definition.group.split('.')[0] || 'core'}.${definition.kind} is not suitable for converting to ${JSON.stringify(wanted)} in scheme "pkg/api/legacyscheme/scheme.go:30"`
    if (sameKind(target, stored.definition)) return stamped(stored.object, target)
    return stamped(target.storedAs?.fromStored(stored.object) as KubernetesObject, target)
  }

  #named(kind: string, apiVersion: string): ResourceDefinition | undefined {
    const [group, version] = groupAndVersion(apiVersion)
    return this.#scheme.byKind(group, version, kind)
  }

  /** The first version of the group that still is no old one. */
  #preferred({ group, kind }: ResourceDefinition): ResourceDefinition | undefined {
    return this.#scheme.mappingOf({ group, kind })
  }
}

const sameKind = (one: ResourceDefinition, other: ResourceDefinition): boolean =>
  one.group === other.group && one.version === other.version && one.kind === other.kind

function storedForm(
  definition: ResourceDefinition,
  object: KubernetesObject,
): { definition: ResourceDefinition; object: KubernetesObject } {
  definition.defaults?.(object)
  if (definition.storedAs === undefined) return { definition, object }
  const stored = definition.storedAs.definition as ResourceDefinition
  const converted = definition.storedAs.toStored(object) as KubernetesObject
  stored.defaults?.(converted)
  return { definition: stored, object: converted }
}

function stamped(object: KubernetesObject, { group, version, kind }: ResourceDefinition): ApiObject {
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object
  return { kind, apiVersion: group === '' ? version : `${group}/${version}`, ...rest } as ApiObject
}
