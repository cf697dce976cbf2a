import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import type { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'
import type { ContainerUsage, GroupUsage, NodeUsage, PodUsage, UsageSource } from '#kubelet/stats/usage.ts'

/** What simulated containers use by their annotations, or have asked for where those say nothing; the node itself uses nothing. */
export function simulatedUsageSource(runtime: Pick<SimulatedRuntime, 'usage'>, pods: () => readonly V1Pod[], clock: Clock): UsageSource {
  return {
    async collect(): Promise<NodeUsage> {
      const timeMs = clock.now()
      const measured = pods().flatMap((pod) => podUsage(pod, runtime, timeMs) ?? [])
      return {
        whole: sumOf(
          measured.map(({ whole }) => whole),
          timeMs,
        ),
        ...{ startedMs: 0, systemContainers: [], interfaces: [], pods: measured },
      }
    },
  }
}

function podUsage(pod: V1Pod, runtime: Pick<SimulatedRuntime, 'usage'>, timeMs: number): PodUsage | undefined {
  const { name = '', namespace = '', uid = '' } = pod.metadata
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
  const containers: ContainerUsage[] = []
  for (const { name: container, image, containerID = '', state } of statuses) {
    const usage = runtime.usage(containerID)
    if (usage === undefined) continue
    const startedMs = msOf(state?.running?.startedAt)
    containers.push({
      name: container,
      id: containerID,
      image,
      startedMs,
      cgroup: '',
      ...groupUsage(usage.cpuSeconds, usage.memoryBytes, timeMs),
    })
  }
  if (containers.length === 0) return undefined
  return { name, namespace, uid, cgroup: '', startedMs: msOf(pod.status?.startTime), whole: sumOf(containers, timeMs), containers }
}

function groupUsage(cpuSeconds: number, memoryBytes: number, timeMs: number): GroupUsage {
  return {
    timeMs,
    cpu: { usageNanos: Math.round(cpuSeconds * 1e9) },
    memory: {
      ...{ usageBytes: memoryBytes, workingSetBytes: memoryBytes, rssBytes: memoryBytes },
      ...{ cacheBytes: 0, swapBytes: 0, pageFaults: 0, majorPageFaults: 0 },
    },
  }
}

function sumOf(parts: readonly GroupUsage[], timeMs: number): GroupUsage {
  const nanos = parts.reduce((sum, { cpu }) => sum + cpu.usageNanos, 0)
  return groupUsage(
    nanos / 1e9,
    parts.reduce((sum, { memory }) => sum + memory.workingSetBytes, 0),
    timeMs,
  )
}

const msOf = (time: string | null | undefined): number => (time ? parseTime(time) : 0)
