/** Whether a node takes a pod that was bound to it: the last word is the node's. */
import { fitsNodeLabels, untoleratedTaint } from '#api/core/v1/node/node-fit.ts'
import { HostPorts, hostPortsOf } from '#api/core/v1/pod/host-ports.ts'
import { podRequests } from '#api/core/v1/resources.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { milliValueOf, wholeValueOf } from '#api/meta/quantity.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'

export type Admission = {
  node: V1Node
  operatingSystem: string
  allocatable: Readonly<Record<string, string>>
  /** The pods that are here and take up something, this one left out. */
  others: readonly V1Pod[]
  isStatic: boolean
}

/** Why the node does not take the pod; undefined when it does. */
export function rejectionOf(pod: V1Pod, admission: Admission): Waiting | undefined {
  const { node, operatingSystem, isStatic } = admission
  const { spec, metadata } = pod
  const label = metadata.labels?.['kubernetes.io/os']
  if (label !== undefined && label !== operatingSystem) {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message }
  }
  if (spec.os && spec.os.name !== operatingSystem) {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" }
  }
  if (spec.securityContext?.supplementalGroupsPolicy === 'Strict' && !node.status?.features?.supplementalGroupsPolicy) {
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node'
    return { reason: 'SupplementalGroupsPolicyNotSupported', message }
  }
  const lacking = lackingResource(pod, admission)
  if (lacking !== undefined) return lacking
  if (!fitsNodeLabels(spec, node)) return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector")
  if (hasTakenPort(pod, admission.others)) return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")
  if (!isStatic && untoleratedTaint(node.spec?.taints, spec.tolerations, ['NoExecute']) !== undefined) {
    return failed('TaintToleration', "node(s) had taints that the pod didn't tolerate")
  }
  return undefined
}

/** What the node object may have changed meanwhile: worth a second look at it. */
export const dependsOnNode = ({ reason }: Waiting): boolean => reason === 'NodeAffinity' || reason === 'TaintToleration'

/** There is too little of something, which others may have to spare. */
export const lacksResource = ({ reason }: Waiting): boolean => reason.startsWith('OutOf')

const failed = (predicate: string, why: string): Waiting => ({ reason: predicate, message: `Predicate ${predicate} failed: ${why}` })

/** The first resource of which there is too little. Those the node does not know of are none of its business. */
export function lackingResource(pod: V1Pod, { allocatable, others }: Pick<Admission, 'allocatable' | 'others'>): Waiting | undefined {
  const capacityOfPods = wholeValueOf(allocatable['pods'])
  if (others.length + 1 > capacityOfPods) return outOf('pods', 1, others.length, capacityOfPods)
  const wanted = podRequests(pod.spec)
  for (const name of Object.keys(wanted)) {
    const capacityText = allocatable[name]
    const amount = (of: V1Pod) => (name === 'cpu' ? podRequests(of.spec)[name]?.milliValue() : podRequests(of.spec)[name]?.value()) ?? 0
    const requested = amount(pod)
    if (capacityText === undefined || requested === 0) continue
    const capacity = name === 'cpu' ? milliValueOf(capacityText) : wholeValueOf(capacityText)
    const used = others.reduce((sum, other) => sum + amount(other), 0)
    if (requested > capacity - used) return outOf(name, requested, used, capacity)
  }
  return undefined
}

const outOf = (resource: string, requested: number, used: number, capacity: number): Waiting => ({
  reason: `OutOf${resource}`,
  message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
})

function hasTakenPort({ spec }: V1Pod, others: readonly V1Pod[]): boolean {
  const wanted = hostPortsOf(spec)
  if (wanted.length === 0) return false
  const taken = new HostPorts()
  for (const other of others) taken.add(hostPortsOf(other.spec))
  return taken.conflicts(wanted)
}
