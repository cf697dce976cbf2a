import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import { type DrainParts, drainNode } from '#cluster-autoscaler/scale-down/drain-node.ts'
import { markToBeDeleted, removeTaint } from '#cluster-autoscaler/scale-down/node-taints.ts'
import type { Removable } from '#cluster-autoscaler/scale-down/planner.ts'
import { isDaemonSetPod, isMirrorPod } from '#cluster-autoscaler/snapshot/pod-kinds.ts'
import { toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'
import type { StatusEvents } from '#cluster-autoscaler/state/status-events.ts'

export type ActuatorParts = DrainParts & {
  statusEvents: StatusEvents
  logger: Logger
  onFailure(): void
}

const delayPrefix = 'delay-deletion.cluster-autoscaler.kubernetes.io/'
const lookMs = 5000

/** Taints nodes, empties them and has them deleted, several beside each other and beside the rounds of the autoscaler. */
export class Actuator {
  readonly #parts: ActuatorParts
  readonly #underWay = new Map<string, { groupId: string; isDrained: boolean; work: Promise<void> }>()
  /** Nodes that stay, and still carry the mark of those that go. */
  readonly #marked = new Set<string>()
  readonly #stop = new AbortController()

  constructor(parts: ActuatorParts) {
    this.#parts = parts
  }

  get inProgress(): ReadonlySet<string> {
    return new Set(this.#underWay.keys())
  }

  inProgressOf(groupId: string): number {
    return [...this.#underWay.values()].filter((each) => each.groupId === groupId).length
  }

  /** Tells how many deletions have begun. Throws when nodes cannot be tainted: then none has. */
  async start(empty: readonly Removable[], drained: readonly Removable[]): Promise<number> {
    const chosen = this.#withinLimits(empty, drained)
    await this.#taintAll(chosen)
    for (const removable of chosen) this.#begin(removable)
    return chosen.length
  }

  #withinLimits(empty: readonly Removable[], drained: readonly Removable[]): Removable[] {
    const { maxScaleDownParallelism, maxDrainParallelism, maxEmptyBulkDelete } = this.#parts.options
    const running = [...this.#underWay.values()]
    const draining = running.filter(({ isDrained }) => isDrained).length
    const room = Math.max(0, maxScaleDownParallelism - running.length)
    const emptyRoom = Math.max(0, Math.min(room, maxEmptyBulkDelete - (running.length - draining)))
    const first = empty.slice(0, emptyRoom)
    const drainRoom = Math.max(0, Math.min(room - first.length, maxDrainParallelism - draining))
    return [...first, ...drained.slice(0, drainRoom)]
  }

  async #taintAll(chosen: readonly Removable[]): Promise<void> {
    const { events, options } = this.#parts
    const tainted: string[] = []
    for (const { node } of chosen) {
      const name = node.metadata.name ?? ''
      try {
        await markToBeDeleted(name, this.#parts, options.cordonNodeBeforeTerminate)
        tainted.push(name)
        events.normal(Node, node, 'ScaleDown', 'marked the node as toBeDeleted/unschedulable')
      } catch (error) {
        events.warning(Node, node, 'ScaleDownFailed', `failed to mark the node as toBeDeleted/unschedulable: ${errorMessage(error)}`)
        // Its own too: the write may have been done, and the answer lost.
        for (const each of [...tainted, name]) await this.#untaint(each)
        throw new Error(`couldn't taint node ${name} with ToBeDeleted: ${errorMessage(error)}`, { cause: error })
      }
    }
  }

  #begin(removable: Removable): void {
    const { node, group, move, utilization } = removable
    const { statusEvents, logger } = this.#parts
    const name = node.metadata.name ?? ''
    const isDrained = move.pods.length > 0
    if (isDrained) {
      const names = move.pods.map((pod) => pod.name).join(',')
      const used = `{${utilization.cpu} ${utilization.memory} 0 ${utilization.resource} ${utilization.share}}`
      statusEvents.normal('ScaleDown', `Scale-down: removing node ${name}, utilization: ${used}, pods to reschedule: ${names}`)
    } else statusEvents.normal('ScaleDownEmpty', `Scale-down: removing empty node "${name}"`)
    logger.info('scale-down', { node: name, nodeGroup: group.id, pods: move.pods.length })
    const work = this.#remove(removable, isDrained).finally(() => {
      this.#underWay.delete(name)
      this.#parts.metrics.pendingDeletions.set(this.#underWay.size)
    })
    this.#underWay.set(name, { groupId: group.id, isDrained, work })
    this.#parts.metrics.pendingDeletions.set(this.#underWay.size)
  }

  async #remove({ node, group }: Removable, isDrained: boolean): Promise<void> {
    const { events, statusEvents, metrics, clock, options, logger } = this.#parts
    const name = node.metadata.name ?? ''
    try {
      // A pod may be on its way here: the scheduler has not seen the taint yet.
      await clock.sleep(options.nodeDeleteDelayAfterTaintMs, this.#stop.signal)
      await this.#empty(name, isDrained)
      await this.#waitForDelays(name)
      await group.deleteNodes([node])
    } catch (error) {
      if (this.#stop.signal.aborted) return
      const what = isDrained ? 'failed to drain and delete node' : 'failed to delete empty node'
      events.warning(Node, node, 'ScaleDownFailed', `${what}: ${errorMessage(error)}`)
      logger.warn('scale-down failed', { node: name, nodeGroup: group.id, error: errorMessage(error) })
      this.#parts.onFailure()
      await this.#untaint(name)
      return
    }
    events.normal(Node, node, 'ScaleDown', 'nodes removed by cluster autoscaler')
    if (isDrained) statusEvents.normal('ScaleDown', `Scale-down: node ${name} removed with drain`)
    else statusEvents.normal('ScaleDownEmpty', `Scale-down: empty node ${name} removed`)
    const reason = !isNodeReady(node) ? 'unready' : isDrained ? 'underutilized' : 'empty'
    metrics.scaledDown.inc({ reason, gpu_resource_name: '', gpu_name: '', dra_drivers: '' })
  }

  async #empty(name: string, isDrained: boolean): Promise<void> {
    const { client, options } = this.#parts
    const { items } = await client.list(Pod, { fieldSelector: `spec.nodeName=${name}` })
    const pods = items.filter((pod) => !isMirrorPod(pod) && !isEnded(pod))
    const others = pods.filter((pod) => !isDaemonSetPod(pod) && isImportant(pod, options.expendablePodsPriorityCutoff))
    if (!isDrained && others.length > 0) throw new Error(`failed to delete empty node "${name}", new pods scheduled`)
    const evictsDaemons = isDrained ? options.daemonSetEvictionForOccupiedNodes : options.daemonSetEvictionForEmptyNodes
    const daemons = pods.filter((pod) => isDaemonSetPod(pod) && mayEvictDaemon(pod, evictsDaemons))
    await drainNode(name, others, daemons, this.#parts, this.#stop.signal)
  }

  /** Others may have something to finish on the node first. */
  async #waitForDelays(name: string): Promise<void> {
    const { client, clock, options } = this.#parts
    const untilMs = clock.monotonic() + options.nodeDeletionDelayMs
    for (;;) {
      const node: V1Node | undefined = await client.get(Node, '', name).catch((error: unknown) => {
        if (isNotFound(error)) return undefined
        throw error
      })
      const isDelayed = Object.keys(node?.metadata.annotations ?? {}).some((key) => key.startsWith(delayPrefix))
      if (!isDelayed || clock.monotonic() >= untilMs) return
      await clock.sleep(lookMs, this.#stop.signal)
    }
  }

  async #untaint(name: string): Promise<void> {
    const { options, logger } = this.#parts
    this.#marked.add(name)
    try {
      await removeTaint(name, toBeDeletedTaint, this.#parts, options.cordonNodeBeforeTerminate)
    } catch (error) {
      if (!isNotFound(error)) {
        logger.warn('failed to remove taint, retrying', { node: name, taint: toBeDeletedTaint, error: errorMessage(error) })
        return
      }
    }
    this.#marked.delete(name)
  }

  /** Again, what has failed before: no pod would ever come to such a node. */
  async unmarkThoseThatStay(): Promise<void> {
    for (const name of [...this.#marked]) await this.#untaint(name)
  }

  /** Ends drains where they are; the next autoscaler takes the taints off. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled([...this.#underWay.values()].map(({ work }) => work))
  }
}

const isEnded = ({ status }: V1Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'
const isImportant = ({ spec }: V1Pod, cutoff: number): boolean => (spec.priority ?? 0) >= cutoff

function mayEvictDaemon({ metadata }: V1Pod, byDefault: boolean): boolean {
  const asked = metadata.annotations?.['cluster-autoscaler.kubernetes.io/enable-ds-eviction']
  return asked === undefined ? byDefault : asked === 'true'
}
