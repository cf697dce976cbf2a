import { canonicalize } from '#api/codec/json.ts'
import { jsonText } from '#api/codec/json-text.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { sorted } from '#api/structural/sorted-json.ts'
import { ownBytes } from '#base/own-bytes.ts'

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

/** The object in the one form it is stored in: what every object has first, the rest by name. The resourceVersion is left out. */
export function encodeUntyped(object: KubernetesObject): { canonical: KubernetesObject; value: Uint8Array } {
  const { kind, apiVersion, metadata, ...rest } = object
  const { resourceVersion: _, ...own } = metadata ?? {}
  const canonical = { kind, apiVersion, metadata: canonicalize(own, objectMeta), ...sorted(rest) } as KubernetesObject
  return { canonical, value: ownBytes(jsonText(canonical)) }
}
