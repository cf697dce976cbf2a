/** Objects that a kubelet keeps about its own node: leases, CSI nodes, resource slices. */

import { ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import type { NodeRules } from '#apiserver/admission/node-restriction/node-restriction.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

const leaseNamespace = 'kube-node-lease'

export const ownedObjectRules: NodeRules = {
  'leases.coordination.k8s.io'(request, nodeName) {
    if (request.namespace !== leaseNamespace) throw forbid(request, `can only access leases in the "${leaseNamespace}" system namespace`)
    if (nameOf(request) !== nodeName) throw forbid(request, 'can only access node lease with the same name as the requesting node')
  },
  'csinodes.storage.k8s.io'(request, nodeName) {
    if (nameOf(request) !== nodeName) throw forbid(request, 'can only access CSINode with the same name as the requesting node')
  },
  // Updates are validated by the authorizer, which cannot see what a create or a deletion of many is about.
  'resourceslices.resource.k8s.io'(request, nodeName) {
    if (request.operation === 'UPDATE') return
    const [slice, verb] =
      request.operation === 'CREATE' ? [objectOf(ResourceSlice, request), 'create'] : [oldObjectOf(ResourceSlice, request), 'delete']
    if (slice.spec?.nodeName === nodeName) return
    throw forbid(request, `can only ${verb} ResourceSlice with the same NodeName as the requesting node`)
  },
}

const nameOf = ({ operation, object, name }: AdmissionRequest): string | undefined =>
  operation === 'CREATE' ? object?.metadata?.name : name
