/** What a kubelet may do with pods: show its static ones, report on those it runs, end them. */

import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { mirrorPodAnnotation } from '#api/core/v1/pod-spec/validate-annotations.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { notFound } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import type { NodeRules } from '#apiserver/admission/node-restriction/node-restriction.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'
import { referencedObjects } from '#apiserver/admission/referenced-objects.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { errorMessage } from '#base/error-message.ts'

const same = equalityOf(Pod)

export function podRules({ cluster }: AdmissionContext): NodeRules {
  return {
    pods(request, nodeName) {
      switch (request.subresource) {
        case '':
          return validatePod(request, nodeName, cluster)
        case 'status':
          return validateStatus(request, nodeName)
        case 'eviction':
          return validateEviction(request, nodeName, cluster)
        default:
          throw forbid(request, `unexpected pod subresource "${request.subresource}", only 'status' and 'eviction' are allowed`)
      }
    },
  }
}

function validatePod(request: AdmissionRequest, nodeName: string, cluster: ClusterView): void {
  switch (request.operation) {
    case 'CREATE':
      validateCreate(request, nodeName, cluster)
      return
    case 'DELETE':
      if (existingPod(request, request.name, cluster).spec?.nodeName === nodeName) return
      throw forbid(request, `node "${nodeName}" can only delete pods with spec.nodeName set to itself`)
    default:
      throw forbid(request, `unexpected operation "${request.operation}", node "${nodeName}" can only create and delete mirror pods`)
  }
}

function validateCreate(request: AdmissionRequest, nodeName: string, cluster: ClusterView): void {
  const pod = objectOf(Pod, request)
  const self = `node "${nodeName}"`
  if (pod.metadata.annotations?.[mirrorPodAnnotation] === undefined) {
    throw forbid(request, `pod does not have "${mirrorPodAnnotation}" annotation, ${self} can only create mirror pods`)
  }
  if (pod.spec?.nodeName !== nodeName) throw forbid(request, `${self} can only create pods with spec.nodeName set to itself`)
  const [owner, ...others] = pod.metadata.ownerReferences ?? []
  if (others.length > 0) throw forbid(request, `${self} can only create pods with a single owner reference set to itself`)
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== nodeName) {
    throw forbid(request, `${self} can only create pods with an owner reference set to itself`)
  }
  if (!owner.controller) throw forbid(request, `${self} can only create pods with a controller owner reference set to itself`)
  if (owner.blockOwnerDeletion) throw forbid(request, `${self} must not set blockOwnerDeletion on an owner reference`)
  const node = cluster.get(Node, nodeName)
  if (node === undefined) throw notFound({ group: '', resource: 'nodes' }, nodeName)
  const uid = node.metadata?.uid ?? ''
  if (owner.uid !== uid) throw forbid(request, `node ${nodeName} UID mismatch: expected ${owner.uid} got ${uid}`)

  let referenced: string | undefined
  try {
    referenced = referencedObjects(pod.spec)
  } catch (error) {
    throw forbid(request, `error checking mirror pod for API references: ${errorMessage(error)}`)
  }
  if (referenced !== undefined) throw forbid(request, `${self} can not create pods that reference ${referenced}`)
}

function validateStatus(request: AdmissionRequest, nodeName: string): void {
  if (request.operation !== 'UPDATE') throw forbid(request, `unexpected operation "${request.operation}"`)
  const [next, prev] = [objectOf(Pod, request), oldObjectOf(Pod, request)]
  const self = `node "${nodeName}"`
  if (prev.spec?.nodeName !== nodeName) {
    throw forbid(request, `${self} can only update pod status for pods with spec.nodeName set to itself`)
  }
  if (!same.at('metadata').at('labels')(next.metadata.labels, prev.metadata.labels)) {
    throw forbid(request, `${self} cannot update labels through pod status`)
  }
  if (!same.at('status').at('resourceClaimStatuses')(next.status?.resourceClaimStatuses, prev.status?.resourceClaimStatuses)) {
    throw forbid(request, `${self} cannot update resource claim statues`)
  }
  if (
    !same.at('status').at('extendedResourceClaimStatus')(next.status?.extendedResourceClaimStatus, prev.status?.extendedResourceClaimStatus)
  ) {
    throw forbid(request, `${self} cannot update extended resource claim status`)
  }
}

function validateEviction(request: AdmissionRequest, nodeName: string, cluster: ClusterView): void {
  if (request.operation !== 'CREATE') throw forbid(request, `unexpected operation ${request.operation}`)
  const name = request.name || request.object?.metadata?.name
  if (!name) throw forbid(request, 'could not determine pod from request data')
  if (existingPod(request, name, cluster).spec?.nodeName === nodeName) return
  throw forbid(request, `node ${nodeName} can only evict pods with spec.nodeName set to itself`)
}

export function existingPod({ namespace }: AdmissionRequest, name: string, cluster: ClusterView): V1Pod {
  const pod = cluster.get(Pod, namespace, name)
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name)
  return pod
}
