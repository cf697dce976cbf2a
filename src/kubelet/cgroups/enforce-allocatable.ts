/** Keeps pods, the system and the node's own programs within what is set aside for them. */
import { milliValueOf, wholeValueOf } from '#api/meta/quantity.ts'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import { type GroupLimits, limitGroup } from '#kubelet/cgroups/group-limits.ts'
import type { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { cpuShares } from '#kubelet/runtimes/cri/linux-resources.ts'

export type EnforceOptions = {
  cgroups: CgroupFiles
  configuration: KubeletConfiguration
  pods: Pick<PodCgroups, 'limitAll'>
  capacity: { cores: number; memoryBytes: number }
}

/** Rejects where a group that was named is not there. */
export async function enforceAllocatable({ cgroups, configuration, pods, capacity }: EnforceOptions): Promise<void> {
  const { enforceNodeAllocatable: enforced, systemReserved, kubeReserved } = configuration
  const lists = [systemReserved, kubeReserved]
  if (enforced.includes('pods')) {
    const cpuMillis = capacity.cores * 1000 - lists.reduce((sum, list) => sum + milliValueOf(list['cpu']), 0)
    // Pods are evicted before they get there: what is kept free for that is not taken off.
    const memoryBytes = capacity.memoryBytes - lists.reduce((sum, list) => sum + wholeValueOf(list['memory']), 0)
    await pods.limitAll(limitsOf(Math.max(0, cpuMillis), Math.max(0, memoryBytes)))
  }
  for (const [what, list, group] of [
    ['system-reserved', systemReserved, configuration.systemReservedCgroup],
    ['kube-reserved', kubeReserved, configuration.kubeReservedCgroup],
  ] as const) {
    if (!enforced.includes(what)) continue
    const file = cgroups.version === 1 ? 'cpu.shares' : 'cgroup.procs'
    if ((await cgroups.read(group, 'cpu', file)) === undefined)
      throw new Error(`failed to enforce ${what}: cgroup "${group}" does not exist`)
    const memoryBytes = wholeValueOf(list['memory'])
    const kept = configuration.featureGates['MemoryQoS'] && memoryBytes > 0 ? { memoryMinBytes: memoryBytes } : {}
    await limitGroup(cgroups, group, { ...limitsOf(milliValueOf(list['cpu']), memoryBytes), ...kept })
  }
}

function limitsOf(cpuMillis: number, memoryBytes: number): GroupLimits {
  return { ...(cpuMillis > 0 && { shares: cpuShares(cpuMillis) }), ...(memoryBytes > 0 && { memoryBytes }) }
}
