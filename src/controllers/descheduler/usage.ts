/** How much of a node is in use, in thousandths of each resource. */

import { podRequests } from '#api/core/v1/resources.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { milliValueOf } from '#api/meta/quantity.ts'
import { livePodsOn } from '#controllers/descheduler/node-fit.ts'
import type { ClusterView, Measurements } from '#controllers/descheduler/plugin.ts'

export type Amounts = Record<string, number>
export type Percentages = Readonly<Record<string, number>>

export type UsageSource = {
  ofNode(node: V1Node): Amounts
  /** Undefined where nobody knows: then the pod stays. */
  ofPod(pod: V1Pod): Amounts | undefined
}

/** What pods ask for, whatever they use. */
export function requestedUsage(view: ClusterView, names: readonly string[]): UsageSource {
  const ofPod = ({ spec }: V1Pod): Amounts => {
    const requests = podRequests(spec)
    return Object.fromEntries(names.map((name) => [name, name === 'pods' ? 1000 : (requests[name]?.milliValue() ?? 0)]))
  }
  return {
    ofPod,
    ofNode(node) {
      const sum: Amounts = Object.fromEntries(names.map((name) => [name, 0]))
      for (const pod of livePodsOn(view, node.metadata.name ?? '')) {
        const own = ofPod(pod)
        for (const name of names) sum[name] = (sum[name] ?? 0) + (own[name] ?? 0)
      }
      return sum
    },
  }
}

/** What pods use, whatever they ask for. Throws where a node has not been measured. */
export function measuredUsage(view: ClusterView, names: readonly string[], measured: Measurements): UsageSource {
  return {
    ofPod({ metadata }) {
      const own = measured.ofPod(metadata.namespace ?? '', metadata.name ?? '')
      return own && { ...own, pods: 1000 }
    },
    ofNode({ metadata }) {
      const name = metadata.name ?? ''
      const used: Amounts = { ...measured.ofNode(name), pods: livePodsOn(view, name).length * 1000 }
      const missing = names.find((resource) => used[resource] === undefined)
      if (missing !== undefined) throw new Error(`unable to find "${missing}" resource for collected "${name}" node metric`)
      return Object.fromEntries(names.map((resource) => [resource, used[resource] ?? 0]))
    },
  }
}

function capacityOf({ status }: V1Node): Readonly<Record<string, string>> {
  const { allocatable = {}, capacity = {} } = status ?? {}
  return Object.keys(allocatable).length > 0 ? allocatable : capacity
}

/** Nothing is in use of what the node does not have. */
export function percentagesOf(used: Amounts, node: V1Node): Record<string, number> {
  const capacity = capacityOf(node)
  return Object.fromEntries(
    Object.entries(used).flatMap(([name, amount]) => {
      if (capacity[name] === undefined) return []
      const whole = milliValueOf(capacity[name])
      return [[name, whole > 0 ? (amount / whole) * 100 : 0]]
    }),
  )
}

/** The share of a node's capacity that thresholds allow; all of it where there is none. */
export function cappedCapacity(node: V1Node, thresholds: Percentages, names: readonly string[]): Amounts {
  const capacity = capacityOf(node)
  return Object.fromEntries(
    names.map((name) => {
      const whole = milliValueOf(capacity[name])
      // Thousandths count for CPU alone.
      const unit = name === 'cpu' ? 1 : 1000
      const share = thresholds[name]
      return [name, share === undefined ? whole : Math.trunc((share * 0.01 * whole) / unit) * unit]
    }),
  )
}
