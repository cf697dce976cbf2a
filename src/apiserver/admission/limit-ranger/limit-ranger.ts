import { LimitRange, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1LimitRange } from '#api/core/v1/types.gen.ts'
import { aggregateMessages } from '#api/meta/aggregate.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { claimFaults, podFaults } from '#apiserver/admission/limit-ranger/constraints.ts'
import { fillInDefaults } from '#apiserver/admission/limit-ranger/container-defaults.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

/** Containers get the limits and requests that the namespace has as defaults, and stay within its bounds. */
export function limitRanger({ cluster }: AdmissionContext): AdmissionPlugin {
  const limitRangesFor = ({ operation, definition, subresource, oldObject, namespace }: AdmissionRequest): readonly V1LimitRange[] => {
    if (oldObject?.metadata?.deletionTimestamp !== undefined) return []
    // Resources of a pod that exists change through `resize` only.
    if (definition.plural === 'pods' && (operation === 'UPDATE') !== (subresource === 'resize')) return []
    return cluster.list(LimitRange, namespace)
  }
  return {
    name: 'LimitRanger',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods', 'pods/resize', 'persistentvolumeclaims'],
    mutate(request) {
      if (request.definition.plural !== 'pods') return
      for (const limitRange of limitRangesFor(request)) fillInDefaults(objectOf(Pod, request), limitRange)
    },
    validate(request) {
      for (const { spec } of limitRangesFor(request)) {
        const limits = spec?.limits ?? []
        const faults =
          request.definition.plural === 'pods'
            ? podFaults(limits, objectOf(Pod, request))
            : claimFaults(limits, objectOf(PersistentVolumeClaim, request))
        if (faults.length > 0) throw forbid(request, aggregateMessages(faults))
      }
    },
  }
}
