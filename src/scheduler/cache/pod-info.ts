import { type NodeMatcher, requiredNodeMatcher } from '#api/core/v1/node/node-selector.ts'
import { type HostPort, hostPortsOf } from '#api/core/v1/pod/host-ports.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { errorMessage } from '#base/error-message.ts'
import { affinityTermsOf, type PodAffinityTerms } from '#scheduler/cache/affinity-terms.ts'
import { hasAllNonZero, nonZeroRequestsOf, type Resources, requestsOf } from '#scheduler/cache/resources.ts'

/** A pod with everything that is asked about it many times a cycle worked out once. Immutable, but for newer versions of the pod that change nothing of it. */
export type PodInfo = {
  pod: V1Pod
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly priority: number
  readonly requests: Resources
  readonly nonZeroCpuMillis: number
  readonly nonZeroMemory: number
  readonly hostPorts: readonly HostPort[]
  readonly terms: PodAffinityTerms
  /** Why the affinity terms cannot be understood. */
  readonly termsError: string | undefined
  readonly requiredNode: NodeMatcher | undefined
  readonly isTerminating: boolean
}

export function podInfoOf(pod: V1Pod): PodInfo {
  const requests = requestsOf(pod)
  const nonZero = hasAllNonZero(pod.spec) ? requests : nonZeroRequestsOf(pod.spec)
  let terms: PodAffinityTerms = { required: [], requiredAnti: [], preferred: [], preferredAnti: [] }
  let termsError: string | undefined
  try {
    terms = affinityTermsOf(pod)
  } catch (error) {
    termsError = errorMessage(error)
  }
  return {
    pod,
    uid: pod.metadata.uid ?? `${pod.metadata.namespace}/${pod.metadata.name}`,
    namespace: pod.metadata.namespace ?? '',
    name: pod.metadata.name ?? '',
    priority: pod.spec.priority ?? 0,
    requests,
    nonZeroCpuMillis: nonZero.cpuMillis,
    nonZeroMemory: nonZero.memory,
    hostPorts: hostPortsOf(pod.spec),
    terms,
    termsError,
    requiredNode: requiredNodeMatcher(pod),
    isTerminating: pod.metadata.deletionTimestamp !== undefined,
  }
}

const known = new WeakMap<V1Pod, PodInfo>()

/** The same one each time, for those who compare many pods with many others. */
export const knownPodInfo = (pod: V1Pod): PodInfo => known.getOrInsertComputed(pod, podInfoOf)

/** The same pod, taken to run on the node. */
export function placedOn(info: PodInfo, nodeName: string): PodInfo {
  return { ...info, pod: { ...info.pod, spec: { ...info.pod.spec, nodeName } } }
}

export const hasAffinity = ({ terms }: PodInfo): boolean =>
  terms.required.length + terms.requiredAnti.length + terms.preferred.length + terms.preferredAnti.length > 0
