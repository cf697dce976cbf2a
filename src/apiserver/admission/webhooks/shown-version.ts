/** A request's objects in the version a webhook asked for, and what it made of them back in the stored one. */
import { canonicalize } from '#api/codec/json.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { internalError } from '#api/meta/status-error.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { decodePatched } from '#apiserver/http/decode-object.ts'

export type ResourceVersion = AdmissionRequest['resource']

export type ShownVersion = {
  readonly resource: ResourceVersion
  readonly kind: AdmissionRequest['kind']
  /** Private, and with nothing left out that Go would write. */
  object(): Promise<KubernetesObject | undefined>
  oldObject(): Promise<KubernetesObject | undefined>
  /** What is to be stored instead, with defaults filled in. Throws where it is no such object any more. */
  stored(changed: Record<string, unknown>): Promise<KubernetesObject>
}

/** `resource` is the one of the request, or another name under which the same objects are served. */
export function shownVersion(request: AdmissionRequest, resource: ResourceVersion, cluster: ClusterView): ShownVersion {
  const { definition: stored, kind } = request
  const served = cluster.dynamic
    .versionsOf(stored)
    .find(({ definition: each }) => each.group === resource.group && each.version === resource.version && each.plural === resource.resource)
  const isWholeObject = kind.kind === stored.kind && kind.group === request.resource.group
  if (served === undefined || !isWholeObject) return asItIs(request, resource)
  const { definition } = served
  const inVersion = async (object: KubernetesObject | undefined) => {
    if (object === undefined) return undefined
    const converted = await served.fromStored(deepCopy(object))
    return canonical({ ...converted, apiVersion: apiVersionOf(definition), kind: definition.kind }, definition)
  }
  return {
    resource,
    kind: { group: definition.group, version: definition.version, kind: definition.kind },
    object: () => inVersion(request.object),
    oldObject: () => inVersion(request.oldObject),
    async stored(changed) {
      const object = decoded(changed, definition)
      definition.defaults?.(object)
      const converted = await served.toStored(object)
      if (definition !== stored) stored.defaults?.(converted)
      return { ...converted, apiVersion: apiVersionOf(stored), kind: stored.kind }
    },
  }
}

/** Bindings, evictions, scales, connections: kinds of their own below another resource. */
function asItIs(request: AdmissionRequest, resource: ResourceVersion): ShownVersion {
  const { kind } = request
  const apiVersion = apiVersionOf(kind)
  const shown = async (object: KubernetesObject | undefined) =>
    object === undefined ? undefined : { ...deepCopy(object), apiVersion, kind: kind.kind }
  return {
    resource,
    kind,
    object: () => shown(request.object),
    oldObject: () => shown(request.oldObject),
    stored: async (changed) => changed as KubernetesObject,
  }
}

function canonical(object: KubernetesObject, { schema }: ResourceDefinition): KubernetesObject {
  return schema === '' ? object : canonicalize(object, schema)
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
