import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { NodeGroupProvider, Pricing } from '#cluster-autoscaler/provider/node-group.ts'
import type { Expander, ExpansionOption } from '#cluster-autoscaler/scale-up/expanders.ts'

export type PriceExpanderOptions = { provider: NodeGroupProvider; clock: Clock; logger: Logger; nodeCount(): number }

const hourMs = 3_600_000
/** Nodes with a GPU are for pods that ask for one, whatever they cost. */
const gpuUnfitness = 1000
/** Added on both sides, so that the price of tiny pods does not decide. */
const stabilizationPod: V1Pod = {
  metadata: { name: 'stabilize', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: '', resources: { requests: { cpu: '500m', memory: '500Mi' } } }] },
}

/** The most pods for the money, with nodes that are neither too small nor too large for the cluster. */
export function priceExpander(options: PriceExpanderOptions): Expander {
  const { provider, clock, logger } = options
  return {
    name: 'price',
    async best(all) {
      const { pricing } = provider
      if (pricing === undefined) return all
      const startMs = clock.now()
      const period = [startMs, startMs + hourMs] as const
      const stabilization = await pricing.podPrice(stabilizationPod, ...period).catch(() => 0)
      const scored: { option: ExpansionOption; score: number }[] = []
      for (const option of all) {
        try {
          const ratio = await priceRatio(option, pricing, stabilization, period)
          scored.push({ option, score: ratio * unfitness(option, preferredMillis(options.nodeCount()), provider.gpuLabel) })
        } catch (error) {
          logger.warn('failed to calculate price of node group', { nodeGroup: option.group.id, error: errorMessage(error) })
        }
      }
      const best = Math.min(...scored.map(({ score }) => score))
      return scored.filter(({ score }) => score === best).map(({ option }) => option)
    },
  }
}

async function priceRatio(
  { template, nodeCount, pods }: ExpansionOption,
  pricing: Pricing,
  stabilization: number,
  period: readonly [number, number],
): Promise<number> {
  const nodePrice = (await pricing.nodePrice(template, ...period)) * nodeCount
  let podPrice = 0
  // Equal pods cost the same, and a provider may be far away.
  const known = new Map<string, number>()
  for (const { pod, requests } of pods) {
    const key = JSON.stringify([requests.cpuMillis, requests.memory, [...(requests.scalars ?? [])]])
    const price = known.get(key) ?? (await pricing.podPrice(pod, ...period))
    known.set(key, price)
    podPrice += price
  }
  return (nodePrice + stabilization) / (podPrice + stabilization)
}

/** 1 for a node of just the size the cluster likes; the more nodes are added, the less it matters. */
function unfitness({ template, nodeCount }: ExpansionOption, preferred: number, gpuLabel: string | undefined): number {
  if (gpuLabel && template.metadata.labels?.[gpuLabel] !== undefined) return gpuUnfitness
  const cpuMillis = cpuMillisOf(template)
  const raw = Math.max(preferred / cpuMillis, cpuMillis / preferred)
  return (raw - 1) * (1 - Math.tanh((nodeCount - 1) / 15)) + 1
}

const cpuMillisOf = ({ status }: V1Node): number => parseQuantity(status?.capacity?.['cpu'] ?? '1').milliValue() || 1

/** Nodes twice as large each time the cluster has three times as many. */
function preferredMillis(nodeCount: number): number {
  const steps = [2, 6, 20, 60, 200].filter((size) => nodeCount > size).length
  return 1000 * 2 ** steps
}
