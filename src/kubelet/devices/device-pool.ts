/** What one plugin has: its devices, which of them are well, and near which NUMA nodes they are. */

import type { DevicePlugin } from '#kubelet/devices/device-plugin.ts'
import { type DevicesByNode, nearNoNode } from '#kubelet/devices/device-records.ts'
import { hasNode, masksOver, type NumaMask, nodeCount } from '#kubelet/topology/numa-mask.ts'
import type { TopologyHint } from '#kubelet/topology/topology-hint.ts'
import type { PluginDevice } from '#wire/kubelet/device-plugin-messages.ts'

/** So long a plugin may be away before its resource is no more. */
const absenceMs = 300_000

export class DevicePool {
  readonly devices = new Map<string, PluginDevice>()
  healthy: ReadonlySet<string> = new Set()
  unhealthy: ReadonlySet<string> = new Set()
  plugin: DevicePlugin | undefined
  /** When there was a plugin last, for pools of which only their name is known. */
  readonly #knownMs: number

  constructor(nowMs: number) {
    this.#knownMs = nowMs
  }

  /** Returns the ids of those that are now well or ill and were not before. */
  update(devices: readonly PluginDevice[]): Set<string> {
    const changed = devices.filter(({ id, health }) => this.devices.get(id)?.health !== health).map(({ id }) => id)
    this.devices.clear()
    for (const device of devices) this.devices.set(device.id, device)
    this.healthy = new Set(devices.filter(isHealthy).map(({ id }) => id))
    this.unhealthy = new Set(devices.filter((device) => !isHealthy(device)).map(({ id }) => id))
    return new Set(changed)
  }

  /** The plugin is gone: nobody knows how its devices are. */
  markUnhealthy(): void {
    this.unhealthy = this.unhealthy.union(this.healthy)
    this.healthy = new Set()
  }

  hasExpired(nowMs: number): boolean {
    const sinceMs = this.plugin === undefined ? this.#knownMs : this.plugin.stoppedMs
    return sinceMs !== undefined && nowMs - sinceMs > absenceMs
  }

  get hasTopology(): boolean {
    return [...this.devices.values()].some(({ topology }) => (topology?.nodes.length ?? 0) > 0)
  }

  nodesOf(id: string): number[] {
    return this.devices.get(id)?.topology?.nodes.map((node) => node.id) ?? []
  }

  isNear(id: string, mask: NumaMask): boolean {
    return this.nodesOf(id).some((node) => hasNode(mask, node))
  }

  byNode(ids: Iterable<string>): DevicesByNode {
    const groups: DevicesByNode = {}
    for (const id of ids) {
      const nodes = this.nodesOf(id)
      for (const node of nodes.length === 0 ? [nearNoNode] : nodes) {
        groups[node] ??= []
        groups[node].push(id)
      }
    }
    return groups
  }

  /** From which nodes so many could be had; `reusable` are wanted in any case. */
  hints(machineNodes: readonly number[], available: ReadonlySet<string>, reusable: ReadonlySet<string>, count: number): TopologyHint[] {
    const known = new Set(machineNodes)
    const own = new Set([...this.devices.keys()].flatMap((id) => this.nodesOf(id))).intersection(known)
    const nodes = [...(own.size > 0 ? own : known)].sort((left, right) => left - right)
    let fewest = nodes.length
    const masks: NumaMask[] = []
    for (const mask of masksOver(nodes)) {
      const near = (ids: Iterable<string>) => [...ids].filter((id) => this.isNear(id, mask)).length
      if (near(this.devices.keys()) >= count) fewest = Math.min(fewest, nodeCount(mask))
      const placed = [...reusable].filter((id) => this.devices.get(id)?.topology !== undefined)
      if (near(placed) < placed.length) continue
      if (placed.length + near(available) >= count) masks.push(mask)
    }
    return masks.map((affinity) => ({ affinity, isPreferred: nodeCount(affinity) === fewest }))
  }

  /** Near the nodes, near others, near none. */
  sorted(available: ReadonlySet<string>, affinity: NumaMask | undefined): { near: Set<string>; far: Set<string>; anywhere: Set<string> } {
    const sorted = { near: new Set<string>(), far: new Set<string>(), anywhere: new Set<string>() }
    if (affinity === undefined || !this.hasTopology) return { ...sorted, anywhere: new Set(available) }
    for (const id of available) {
      if (this.isNear(id, affinity)) sorted.near.add(id)
      else if (this.nodesOf(id).length > 0) sorted.far.add(id)
      else sorted.anywhere.add(id)
    }
    return sorted
  }
}

const isHealthy = ({ health }: PluginDevice): boolean => health === 'Healthy'
