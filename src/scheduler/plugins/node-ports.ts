import { HostPorts } from '#api/core/v1/pod/host-ports.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { knownPodInfo } from '#scheduler/cache/pod-info.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unschedulable } from '#scheduler/framework/status.ts'

const taken = unschedulable("node(s) didn't have free ports for the requested pod ports")

const freesAPort = (pod: V1Pod, gone: V1Pod): boolean => {
  if (!gone.spec.nodeName) return false
  const ports = new HostPorts()
  ports.add(knownPodInfo(gone).hostPorts)
  return ports.conflicts(knownPodInfo(pod).hostPorts)
}

/** A port of the node's own goes to one pod. */
export const nodePorts = defineSchedulerPlugin({
  name: 'NodePorts',
  retryOn: [when(on.pod.deleted, freesAPort), on.node.added],
  preFilter: ({ hostPorts }) => (hostPorts.length === 0 ? 'skip' : { state: undefined }),
  filter: ({ hostPorts }, node) => (node.ports.conflicts(hostPorts) ? taken : fits),
})
