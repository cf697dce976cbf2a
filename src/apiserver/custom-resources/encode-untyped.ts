import { canonicalize } from '#api/codec/json.ts'
import { jsonText } from '#api/codec/json-text.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { sorted } from '#api/structural/sorted-json.ts'
import { ownBytes } from '#base/own-bytes.ts'
import { atOnce, type Steps } from '#base/steps.ts'

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

type Encoded = { canonical: KubernetesObject; value: Uint8Array }

/** The object in the one form it is stored in: what every object has first, the rest by name. The resourceVersion is left out. */
export function encodeUntyped(object: KubernetesObject): Encoded {
  return atOnce(encodingUntyped(object))
}

/** As `encodeUntyped`, in steps. */
export function* encodingUntyped(object: KubernetesObject): Steps<Encoded> {
  const { kind, apiVersion, metadata, ...rest } = object
  const { resourceVersion: _, ...own } = metadata ?? {}
  const ordered = sorted(rest)
  yield
  const canonical = { kind, apiVersion, metadata: canonicalize(own, objectMeta), ...ordered } as KubernetesObject
  yield
  return { canonical, value: ownBytes(jsonText(canonical)) }
}
