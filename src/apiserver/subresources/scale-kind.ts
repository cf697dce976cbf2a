/** The Scale that a version of a resource speaks: that of autoscaling/v1, or the one of an old group. */

import type { V1Scale, V1ScaleStatus } from '#api/autoscaling/v1/types.gen.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import { labelSelectorObject } from '#api/meta/selector.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { omitEmpty } from '#base/omit-empty.ts'

const currentKind = { group: 'autoscaling', version: 'v1', kind: 'Scale', schema: 'io.k8s.api.autoscaling.v1.Scale' }

/** Decodes and names Scales; they are served below other resources only. */
export function scaleDefinition({ definition }: Pick<ServedResource, 'definition'>): ResourceDefinition<V1Scale> {
  return { ...(definition.scaleKind ?? currentKind), plural: 'scales', scope: 'Namespaced' }
}

/** Old Scales have the selector as a map, where it is no more than that, and as a text beside it. */
export function shownScale(scale: V1Scale, { definition: { scaleKind } }: Pick<ServedResource, 'definition'>): V1Scale {
  if (scaleKind === undefined) return scale
  const { selector = '', ...status } = scale.status ?? { replicas: 0 }
  const { matchLabels, matchExpressions } = labelSelectorObject(selector)
  const old = { ...(matchLabels && !matchExpressions?.length && { selector: matchLabels }), ...omitEmpty({ targetSelector: selector }) }
  return { ...scale, apiVersion: apiVersionOf(scaleKind), status: { ...status, ...old } as unknown as V1ScaleStatus }
}

/** What a client says of the status counts for nothing, hence only the name of the version matters. */
export function currentScale(scale: V1Scale): V1Scale {
  return { ...scale, apiVersion: apiVersionOf(currentKind) }
}
