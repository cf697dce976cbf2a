/** Reads what clients send and what the store holds of a custom kind, by its schema. */
import type { ConvertObjects, UntypedKind } from '#api/custom-kinds/untyped-kind.ts'
import type { VersionSchema } from '#api/custom-kinds/version-schema.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { coerceObject } from '#api/structural/coerce.ts'
import { fillDefaults } from '#api/structural/defaults.ts'
import type { Fields } from '#api/structural/shape.ts'

type Options = {
  schema: VersionSchema
  signature: string
  apiVersion: string
  isStorage: boolean
  findVersion(apiVersion: string): ResourceDefinition | undefined
  storage(): ResourceDefinition
  convert?: ConvertObjects | undefined
}

export function untypedKind({ schema, signature, apiVersion, isStorage, findVersion, storage, convert }: Options): UntypedKind {
  const prunes = !schema.keepsUnknown
  const settle = (object: KubernetesObject) => {
    coerceObject(object as Fields, schema.shape, { dropsMalformed: true, prunes })
    fillDefaults(object, schema.shape)
    if (object.metadata !== undefined && !object.metadata.generation) object.metadata.generation = 1
  }
  return {
    schema,
    signature,
    isStorage,
    version: findVersion,
    storage,
    convert,
    coerce(object) {
      const dropped: string[] = []
      coerceObject(object as Fields, schema.shape, { dropsMalformed: false, prunes }, dropped)
      return dropped
    },
    restore(object) {
      const restored = deepCopy(object)
      restored.apiVersion = apiVersion
      settle(restored)
      return equalJson(restored, object) ? object : restored
    },
    settle,
  }
}
