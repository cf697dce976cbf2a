/** A request's objects in the version a webhook asked for, and what it made of them back in the stored one. */

import type { V1Scale } from '#api/autoscaling/v1/types.gen.ts'
import { canonicalize } from '#api/codec/json.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { internalError } from '#api/meta/status-error.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { decodePatched } from '#apiserver/http/decode-object.ts'
import type { ServedVersion } from '#apiserver/registry/field-ownership.ts'
import { currentScale, scaleDefinition, shownScale } from '#apiserver/subresources/scale-kind.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type ResourceVersion = AdmissionRequest['resource']

export type ShownVersion = {
  readonly resource: ResourceVersion
  readonly kind: AdmissionRequest['kind']
  /** Of the version; undefined for kinds that are no resources of their own. */
  readonly definition: ResourceDefinition | undefined
  /** Private, and with nothing left out that Go would write. */
  object(): Promise<KubernetesObject | undefined>
  oldObject(): Promise<KubernetesObject | undefined>
  /** What is to be stored instead, with defaults filled in. Throws where it is no such object any more. */
  stored(changed: Record<string, unknown>): Promise<KubernetesObject>
}

/** `resource` is the one of the request, or another name under which the same objects are served. */
export function shownVersion(request: AdmissionRequest, resource: ResourceVersion, cluster: ClusterView): ShownVersion {
  const { definition: stored, kind } = request
  const served =
    cluster.dynamic.versionsOf(stored).find(({ definition }) => isPlaceOf(definition, resource)) ?? unservedVersion(stored, resource)
  const isWholeObject = kind.kind === stored.kind && kind.group === request.resource.group
  if (served === undefined) return asItIs(request, resource)
  if (!isWholeObject) return request.subresource === 'scale' ? asScale(request, resource, served.definition) : asItIs(request, resource)
  const { definition } = served
  const inVersion = async (object: KubernetesObject | undefined) => {
    if (object === undefined) return undefined
    const converted = await converting(served, stored, deepCopy(object))
    return canonical({ ...converted, apiVersion: apiVersionOf(definition), kind: definition.kind }, definition)
  }
  return {
    resource,
    definition,
    kind: { group: definition.group, version: definition.version, kind: definition.kind },
    object: () => inVersion(request.object),
    oldObject: () => inVersion(request.oldObject),
    async stored(changed) {
      const object = decoded(changed, definition)
      definition.defaults?.(object)
      const converted = definition.untyped === undefined ? served.toStored(object) : await untypedIn(object, stored)
      if (definition !== stored) stored.defaults?.(converted)
      return { ...converted, apiVersion: apiVersionOf(stored), kind: stored.kind }
    },
  }
}

function isPlaceOf({ group, version, plural }: ResourceDefinition, resource: ResourceVersion): boolean {
  return group === resource.group && version === resource.version && plural === resource.resource
}

/** A definition that was replaced while the request was under way still holds for it. */
function unservedVersion(stored: ResourceDefinition, resource: ResourceVersion): ServedVersion | undefined {
  if (!isPlaceOf(stored, resource)) return undefined
  return { definition: stored, fromStored: (object) => object, toStored: (object) => object }
}

async function converting(served: ServedVersion, stored: ResourceDefinition, object: KubernetesObject): Promise<KubernetesObject> {
  const { definition } = served
  if (definition === stored) return object
  return definition.untyped === undefined ? served.fromStored(object) : untypedIn(object, definition)
}

/** Objects of custom kinds are in the version of the request, and go to another one directly. */
async function untypedIn(object: KubernetesObject, to: ResourceDefinition): Promise<KubernetesObject> {
  const { untyped } = to
  const apiVersion = apiVersionOf(to)
  if (untyped === undefined || object.apiVersion === apiVersion) return object
  const [converted] = untyped.convert === undefined ? [{ ...object, apiVersion }] : await untyped.convert([object], to)
  if (converted === undefined) throw internalError(`no object came back from the conversion to ${apiVersion}`)
  return untyped.restore(converted)
}

/** Bindings, evictions, connections: kinds of their own below another resource. */
function asItIs(request: AdmissionRequest, resource: ResourceVersion): ShownVersion {
  const { kind } = request
  const apiVersion = apiVersionOf(kind)
  const shown = async (object: KubernetesObject | undefined) =>
    object === undefined ? undefined : { ...deepCopy(object), apiVersion, kind: kind.kind }
  return {
    resource,
    definition: undefined,
    kind,
    object: () => shown(request.object),
    oldObject: () => shown(request.oldObject),
    stored: async (changed) => changed as KubernetesObject,
  }
}

/** Each version of a resource may have a Scale of its own. */
function asScale(request: AdmissionRequest, resource: ResourceVersion, definition: ResourceDefinition): ShownVersion {
  const { group, version, kind } = scaleDefinition({ definition })
  const own = scaleDefinition({ definition: request.definition })
  const shown = async (object: KubernetesObject | undefined) =>
    object === undefined ? undefined : (shownScale(withPlainSelector(deepCopy(object) as V1Scale), { definition }) as KubernetesObject)
  return {
    resource,
    definition: undefined,
    kind: { group, version, kind },
    object: () => shown(request.object),
    oldObject: () => shown(request.oldObject),
    stored: async (changed) => ({ ...changed, apiVersion: apiVersionOf(own) }) as KubernetesObject,
  }
}

/** Old Scales have the selector as a map, and as a text beside it. */
function withPlainSelector(scale: V1Scale): V1Scale {
  const { selector, targetSelector, ...status } = (scale.status ?? { replicas: 0 }) as {
    replicas: number
    selector?: unknown
    targetSelector?: string
  }
  const text = typeof selector === 'string' ? selector : targetSelector
  return currentScale({ ...scale, status: { ...status, ...omitEmpty({ selector: text }) } })
}

function canonical(object: KubernetesObject, { schema, untyped }: ResourceDefinition): KubernetesObject {
  return untyped !== undefined || schema === '' ? object : canonicalize(object, schema)
}

function decoded(changed: Record<string, unknown>, definition: ResourceDefinition): KubernetesObject {
  const { apiVersion, kind } = changed
  if (kind !== definition.kind || apiVersion !== apiVersionOf(definition)) {
    throw internalError(
      `a webhook made a ${String(kind)} of ${String(apiVersion)} of the ${definition.kind} of ${apiVersionOf(definition)}`,
    )
  }
  const result = decodePatched(changed, definition)
  if ('error' in result) throw internalError(result.error)
  return result.object
}
