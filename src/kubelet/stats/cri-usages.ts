import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import type { GroupUsage } from '#kubelet/stats/usage.ts'

/** What containers use by the runtime's own count, by id: for nodes without cgroups of their own, where the kernel cannot be asked. */
export async function criUsages(client: Pick<CriClient, 'call'>): Promise<Map<string, GroupUsage>> {
  const { stats } = await client.call('listContainerStats', {}, { timeoutMs: 10_000 })
  const usages = new Map<string, GroupUsage>()
  for (const { attributes, cpu, memory } of stats) {
    if (attributes === undefined || cpu === undefined || memory === undefined) continue
    const workingSetBytes = Number(memory.workingSetBytes?.value ?? 0)
    usages.set(attributes.id, {
      timeMs: Number(cpu.timestamp / 1_000_000n),
      cpu: { usageNanos: Number(cpu.usageCoreNanoSeconds?.value ?? 0) },
      memory: {
        ...{
          usageBytes: Number(memory.usageBytes?.value ?? workingSetBytes),
          workingSetBytes,
          rssBytes: Number(memory.rssBytes?.value ?? 0),
        },
        ...{ cacheBytes: 0, swapBytes: 0, pageFaults: 0, majorPageFaults: 0 },
      },
    })
  }
  return usages
}

/** Of several together. */
export function sumOfUsages(parts: readonly GroupUsage[], timeMs: number): GroupUsage {
  const sum = (of: (part: GroupUsage) => number) => parts.reduce((total, part) => total + of(part), 0)
  return {
    timeMs,
    cpu: { usageNanos: sum(({ cpu }) => cpu.usageNanos) },
    memory: {
      usageBytes: sum(({ memory }) => memory.usageBytes),
      workingSetBytes: sum(({ memory }) => memory.workingSetBytes),
      rssBytes: sum(({ memory }) => memory.rssBytes),
      ...{ cacheBytes: 0, swapBytes: 0, pageFaults: 0, majorPageFaults: 0 },
    },
  }
}
