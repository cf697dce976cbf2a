import { Node, Pod, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { mirrorPodAnnotation } from '#api/core/v1/pod-spec/validate-annotations.ts'
import type { Kind } from '#api/kind.ts'
import { unknownFailure } from '#api/meta/status-error.ts'
import type { AdmissionContext } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import type { NodeRules } from '#apiserver/admission/node-restriction/node-restriction.ts'

type PodCertificateRequest = {
  spec: {
    nodeName: string
    nodeUID: string
    podName: string
    podUID: string
    serviceAccountName: string
    serviceAccountUID: string
  }
}

/** A kubelet asks for certificates of pods that run on its node, and as what they run. */
export function podCertificateRules({ cluster, isEnabled }: AdmissionContext): NodeRules {
  /** What is missing may show up a moment later: the agent is not told that it may not ask. */
  const needed = <T>(found: T | undefined, { plural }: Kind, name: string, shown: string): T => {
    if (found !== undefined) return found
    throw unknownFailure(`while retrieving ${shown} named in the PodCertificateRequest: ${plural} "${name}" not found`)
  }
  return {
    'podcertificaterequests.certificates.k8s.io'(request, nodeName) {
      if (!isEnabled('PodCertificateRequest')) throw forbid(request, 'PodCertificateRequest feature gate is disabled')
      if (request.operation !== 'CREATE') throw forbid(request, `unexpected operation ${request.operation}`)
      if (request.subresource !== '') throw forbid(request, `unexpected subresource ${request.subresource}`)
      const { namespace } = request
      const { spec } = request.object as PodCertificateRequest
      if (spec.nodeName !== nodeName) {
        const named = `PodCertificateRequest.Spec.NodeName="${spec.nodeName}"`
        throw forbid(request, `${named}, which is not the requesting node "${nodeName}"`)
      }
      const podText = `"${namespace}/${spec.podName}"`
      const forPod = `PodCertificateRequest for pod ${podText}`
      const nodeUid = needed(cluster.get(Node, spec.nodeName), Node, spec.nodeName, `node "${spec.nodeName}"`).metadata?.uid
      if (nodeUid !== spec.nodeUID) {
        throw unknownFailure(`${forPod} names node UID "${spec.nodeUID}", inconsistent with the running node ("${nodeUid}")`)
      }
      const pod = needed(cluster.get(Pod, namespace, spec.podName), Pod, spec.podName, `pod ${podText}`)
      if (pod.metadata.uid !== spec.podUID) {
        throw unknownFailure(`${forPod} contains pod UID ("${spec.podUID}") which differs from running pod "${pod.metadata.uid}"`)
      }
      if (pod.spec.nodeName !== spec.nodeName) {
        throw forbid(request, `pod ${podText} is not running on node "${spec.nodeName}" named in the PodCertificateRequest`)
      }
      if (pod.metadata.annotations?.[mirrorPodAnnotation] !== undefined) throw forbid(request, `pod ${podText} is a mirror pod`)
      const account = pod.spec.serviceAccountName ?? ''
      if (spec.serviceAccountName !== account) {
        const named = `${forPod} contains serviceAccountName ("${spec.serviceAccountName}")`
        throw forbid(request, `${named} that differs from running pod ("${account}")`)
      }
      const known = cluster.get(ServiceAccount, namespace, account)
      const accountUid = needed(known, ServiceAccount, account, `service account "${namespace}/${account}"`).metadata?.uid
      if (accountUid !== spec.serviceAccountUID) {
        const named = `${forPod} names service account UID "${spec.serviceAccountUID}"`
        throw unknownFailure(`${named}, which differs from the running service account ("${accountUid}")`)
      }
    },
  }
}
