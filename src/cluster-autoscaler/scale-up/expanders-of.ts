import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import type { NodeGroupProvider } from '#cluster-autoscaler/provider/node-group.ts'
import { type Expander, leastNodes, leastWaste, mostPods } from '#cluster-autoscaler/scale-up/expanders.ts'
import { priceExpander } from '#cluster-autoscaler/scale-up/price-expander.ts'
import { priorityExpander } from '#cluster-autoscaler/scale-up/priority-expander.ts'

export const expanderNames: readonly string[] = ['random', 'most-pods', 'least-waste', 'least-nodes', 'price', 'priority']

export type ExpanderParts = {
  client: Client
  clock: Clock
  logger: Logger
  events: EventRecorder
  provider: NodeGroupProvider
  options: AutoscalerOptions
  nodeCount(): number
}

/** In the order of `--expander`; `random` needs none, since chance decides what the others leave open. */
export function expandersOf(parts: ExpanderParts): Expander[] {
  return parts.options.expanders.flatMap((name) => {
    switch (name) {
      case 'random':
        return []
      case 'most-pods':
        return [mostPods]
      case 'least-nodes':
        return [leastNodes]
      case 'least-waste':
        return [leastWaste]
      case 'price':
        return [priceExpander(parts)]
      case 'priority':
        return [priorityExpander({ ...parts, namespace: parts.options.namespace })]
      default:
        throw new Error(`${name} is no expander: there are ${expanderNames.join(', ')}`)
    }
  })
}
