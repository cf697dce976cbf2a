/** Whether nodes still speak: what was last heard of each, and what follows when it is too long ago. */

import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import type { V1Node, V1NodeCondition } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import type { ControllerSettings } from '#controllers/runtime/settings.ts'
import { createdMs } from '#controllers/workload/pods.ts'

const watched = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

export class NodeHealth {
  readonly #cache: Cache
  readonly #settings: ControllerSettings
  /** What the node said, and when this process heard it: clocks of nodes are not believed. */
  readonly #heard = new Map<string, { text: string; atMs: number }>()

  constructor(cache: Cache, settings: ControllerSettings) {
    this.#cache = cache
    this.#settings = settings
  }

  forget(names: ReadonlySet<string>): void {
    for (const name of this.#heard.keys()) if (!names.has(name)) this.#heard.delete(name)
  }

  /** The conditions the node should have now, or undefined when it has spoken lately. */
  overdueConditions(node: V1Node, nowMs: number): V1NodeCondition[] | undefined {
    const { name = '' } = node.metadata
    const conditions = node.status?.conditions ?? []
    const ready = findCondition(conditions, 'Ready')
    const lease = this.#cache.get(Lease, 'kube-node-lease', name)
    const text = `${ready?.lastHeartbeatTime} ${ready?.reason === 'NodeStatusUnknown' ? '' : ready?.status} ${lease?.spec?.renewTime}`
    const heard = this.#heard.get(name)
    if (heard?.text !== text) {
      // A node that never said anything is given time from when it was made.
      const atMs = heard === undefined && ready === undefined && lease === undefined ? createdMs(node) : nowMs
      this.#heard.set(name, { text, atMs })
    }
    const sinceMs = this.#heard.get(name)?.atMs ?? nowMs
    const graceMs = ready === undefined ? this.#settings.nodeStartupGraceMs : this.#settings.nodeMonitorGraceMs
    return nowMs > sinceMs + graceMs ? unknownConditions(conditions, nowMs, node) : undefined
  }
}

function unknownConditions(conditions: readonly V1NodeCondition[], nowMs: number, node: V1Node): V1NodeCondition[] {
  const now = formatTime(nowMs)
  const result = [...conditions]
  for (const type of watched) {
    const index = result.findIndex((condition) => condition.type === type)
    const known = result[index]
    if (known === undefined) {
      result.push({
        type,
        status: 'Unknown',
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
        lastHeartbeatTime: node.metadata.creationTimestamp ?? now,
        lastTransitionTime: now,
      })
    } else if (known.status !== 'Unknown') {
      result[index] = {
        ...known,
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
        lastTransitionTime: now,
      }
    }
  }
  return result
}
