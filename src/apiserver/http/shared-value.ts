/** Objects as those within this process get them: the server's own, instead of bytes that say the same. */
import { canonicalize } from '#api/codec/json.ts'
import { mayHoldLargeIntegers } from '#api/codec/large-integers.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Form } from '#apiserver/http/negotiation.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'

/** Whether what was asked for is what a value says. Custom resources go as bytes: only those tell what their webhooks made of them. */
export function isSharedAsValue({ definition }: ServedResource, form: Form): boolean {
  return form.media === 'json' && form.as === 'object' && definition.untyped === undefined
}

/** What the JSON that others get says. Nobody may change it. */
export function sharedValue(resource: ServedResource, cached: CachedObject): KubernetesObject {
  const { object } = cached
  // Parts of this process expect numbers, as clients elsewhere get them from their JSON.
  if (mayHoldLargeIntegers(object)) return JSON.parse(cached.json().toString()) as KubernetesObject
  return resource.isStoredVersion ? object : canonicalize(resource.fromStored(object), resource.definition.schema)
}
