/** Why a pod had to go, in the words that its users look for. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import { formatBytes } from '#kubelet/eviction/format-bytes.ts'
import { type Observation, resourceOf, type Signal } from '#kubelet/eviction/signals.ts'
import { amountOf, type Threshold } from '#kubelet/eviction/thresholds.ts'
import type { ContainerUsage, PodUsage } from '#kubelet/stats/usage.ts'

export function evictionMessage(
  pod: V1Pod,
  { signal, value }: Threshold,
  { available, capacity }: Observation,
  usage: PodUsage | undefined,
): string {
  const resource = resourceOf(signal)
  const shown = (amount: number) =>
    resource === 'memory' || resource === 'ephemeral-storage' ? formatBytes(amount) : String(Math.round(amount))
  const head = `The node was low on resource: ${resource}. Threshold quantity: ${shown(amountOf(value, capacity))}, available: ${shown(available)}. `
  const parts = (usage?.containers ?? []).flatMap((container) => {
    const used = usedByContainer(container, signal)
    const request = pod.spec.containers.find(({ name }) => name === container.name)?.resources?.requests?.[resource] ?? '0'
    const asked = wholeValueOf(request)
    if (used === undefined || used <= asked) return []
    return [`Container ${container.name} was using ${shown(used)}, request is ${request}, has larger consumption of ${resource}. `]
  })
  return head + parts.join('')
}

function usedByContainer({ memory, rootFs, logs }: ContainerUsage, signal: Signal): number | undefined {
  if (signal === 'memory.available') return memory.workingSetBytes
  if (!signal.endsWith('.available') || signal === 'pid.available') return undefined
  return (rootFs?.usedBytes ?? 0) + (logs?.usedBytes ?? 0)
}
