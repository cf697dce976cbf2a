import type { V1Container, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { on } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable } from '#scheduler/framework/status.ts'

const unknown = unresolvable("node(s) didn't match Pod's required features")

const restartsAll = ({ restartPolicyRules }: V1Container): boolean =>
  restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers') ?? false

/** What a pod asks of its kubelet, by the name under which nodes declare it. */
const requirements: readonly { feature: string; isNeeded(spec: V1PodSpec): boolean }[] = [
  {
    feature: 'RestartAllContainersOnContainerExits',
    isNeeded: ({ containers, initContainers = [] }) => containers.some(restartsAll) || initContainers.some(restartsAll),
  },
  {
    feature: 'UserNamespacesHostNetworkSupport',
    isNeeded: ({ hostNetwork, hostUsers }) => hostNetwork === true && hostUsers === false,
  },
]

/** Keeps pods off nodes that do not know what they ask for. */
export const nodeDeclaredFeatures = defineSchedulerPlugin<readonly string[]>({
  name: 'NodeDeclaredFeatures',
  retryOn: [on.node.added, on.node.featuresChanged],

  preFilter({ pod }) {
    const needed = requirements.filter(({ isNeeded }) => isNeeded(pod.spec)).map(({ feature }) => feature)
    return needed.length === 0 ? 'skip' : { state: needed }
  },
  filter(_, { node }, needed) {
    const declared = node.status?.declaredFeatures ?? []
    return needed.every((feature) => declared.includes(feature)) ? fits : unknown
  },
})
