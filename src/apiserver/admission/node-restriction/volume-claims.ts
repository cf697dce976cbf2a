import { PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { internalDiff } from '#api/core/v1/unified-diff.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import type { NodeRules } from '#apiserver/admission/node-restriction/node-restriction.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

/** Kubelets grow the file systems on volumes, and tell so in the status of the claim. */
export const volumeClaimRules: NodeRules = {
  persistentvolumeclaims(request, nodeName) {
    if (request.subresource !== 'status') throw forbid(request, 'may only update PVC status')
    if (request.operation !== 'UPDATE') throw forbid(request, `unexpected operation "${request.operation}"`)
    const [next, prev] = [comparable(objectOf(PersistentVolumeClaim, request)), comparable(oldObjectOf(PersistentVolumeClaim, request))]
    if (equalityOf(PersistentVolumeClaim)(next, prev)) return
    const difference = internalDiff('core.PersistentVolumeClaim', prev, next)
    const allowed = 'fields other than status.quantity and status.conditions'
    throw forbid(request, `node "${nodeName}" is not allowed to update ${allowed}: ${difference}`)
  },
}

/** Without what the agent may change. */
function comparable({ metadata, status, ...claim }: V1PersistentVolumeClaim): V1PersistentVolumeClaim {
  const { resourceVersion, managedFields, ...restOfMetadata } = metadata ?? {}
  const { capacity, conditions, allocatedResources, allocatedResourceStatuses, ...restOfStatus } = status ?? {}
  return { ...claim, metadata: restOfMetadata, status: restOfStatus }
}
