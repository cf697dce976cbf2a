/** How objects of one version of a custom kind go into the store, and come out of it. */
import type { ConvertObjects, UntypedKind } from '#api/custom-kinds/untyped-kind.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { internalError } from '#api/meta/status-error.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { encodeUntyped, encodingUntyped } from '#apiserver/custom-resources/encode-untyped.ts'
import { VersionView } from '#apiserver/custom-resources/version-view.ts'
import type { RegistryOptions } from '#apiserver/registry/registry-options.ts'
import type { ObjectView } from '#apiserver/watch-cache/version-cache.ts'
import { inSteps } from '#base/steps.ts'

type CustomKind = ResourceDefinition & { untyped: UntypedKind }

export function untypedStorage(definition: CustomKind): Pick<RegistryOptions, 'encode'> & { view: ObjectView } {
  const { untyped } = definition
  const convert: ConvertObjects | undefined = untyped.convert
  const storage = untyped.storage()
  const settled = new WeakSet<Uint8Array>()
  function* encodingSettled(object: KubernetesObject) {
    // Webhooks may have put into it what the schema does not know.
    untyped.settle(object)
    yield
    const encoded = yield* encodingUntyped(object)
    settled.add(encoded.value)
    return encoded
  }
  const encode: RegistryOptions['encode'] = (object, giveWay) => {
    if (untyped.isStorage) return inSteps(encodingSettled(object), giveWay)
    if (convert === undefined) return encodeUntyped(inVersion(object, storage))
    return convert([object], storage).then(([converted]) => {
      if (converted === undefined) throw internalError(`no object came back from the conversion to ${apiVersionOf(storage)}`)
      return encodeUntyped(inVersion(converted, storage))
    })
  }
  return { encode, view: new VersionView({ definition, convert, settled }) }
}

/** What the version that is stored does not know is not stored. */
function inVersion(object: KubernetesObject, storage: ResourceDefinition): KubernetesObject {
  const renamed = { ...object, apiVersion: apiVersionOf(storage) }
  storage.untyped?.coerce(renamed)
  return renamed
}
