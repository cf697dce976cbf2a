import { isDeepStrictEqual } from 'node:util'
import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1NodeStatus } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { isAlreadyExists, isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { backoffMs } from '#base/backoff.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import { retryOnConflict } from '#client/retry.ts'
import { type NodeDescription, type NodeProblems, nodeObject, nodeStatus, withoutHeartbeats } from '#kubelet/node/node-object.ts'
import { RuntimeWatch } from '#kubelet/node/runtime-watch.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

export type NodeRegistrationOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  events: EventRecorder
  node: NodeDescription
  /** Looks at the machine again; absent where it never changes. */
  describe?: () => Promise<NodeDescription>
  runtime: Pick<Runtime, 'health'>
  /** Hears of the node whenever it was read. */
  onNode?: (node: V1Node) => void
  /** What else keeps the node from being ready. */
  otherProblems?: () => NodeProblems
  /** The node is made in the API where it is missing. */
  makesNode?: boolean
  /** Goes on trying when the API server does not answer, instead of giving up. */
  isPatient?: boolean
  /** How often the node looks at itself, and tells though nothing has changed. */
  checkMs?: number
  heartbeatMs?: number
}

const usualHeartbeatMs = 300_000
const usualCheckMs = 10_000
/** While the node is not ready, news may be good. */
const unreadyCheckMs = 2000
const firstRetryMs = 100
const longestRetryMs = 7000

/** The node's object in the API: made, told how the node is when that changes, and now and then that it still lives. */
export class NodeRegistration {
  readonly #options: NodeRegistrationOptions
  readonly #runtime: RuntimeWatch | undefined
  readonly #heartbeatMs: number
  readonly #checkMs: number
  #node: V1Node | undefined
  #description: NodeDescription
  #lastReported: ReturnType<typeof withoutHeartbeats> | undefined
  #lastReportedMs = 0
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: NodeRegistrationOptions) {
    this.#options = options
    this.#description = options.node
    this.#heartbeatMs = options.heartbeatMs ?? usualHeartbeatMs
    this.#checkMs = options.checkMs ?? usualCheckMs
    if (options.runtime.health !== undefined) this.#runtime = new RuntimeWatch(options.runtime, options.clock)
  }

  /** As it was last seen. */
  get node(): V1Node | undefined {
    return this.#node
  }
  get description(): NodeDescription {
    return this.#description
  }

  /** Resolves when the node is registered, and its status told. */
  async start(): Promise<V1Node> {
    const { isPatient, clock, random, logger } = this.#options
    if (this.#mayChange) this.#tell('Normal', 'Starting', 'Starting kubelet.')
    await this.#runtime?.check()
    for (let failures = 0; ; failures++) {
      try {
        const node = await this.#register()
        // Nodes that start together shall not report together for ever after.
        this.#checkAfter(this.#mayChange ? this.#nextCheckMs : this.#heartbeatMs * (0.5 + random.float() / 2))
        return node
      } catch (error) {
        if (!isPatient || this.#isStopped) throw error
        logger.warn('failed to register node with the API server', { error: String(error) })
        await clock.sleep(backoffMs(failures, { firstMs: firstRetryMs, longestMs: longestRetryMs }))
      }
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  checkNow(): void {
    this.#checkAfter(0)
  }

  /** Asks the API for the node as it is now. */
  async refetch(): Promise<V1Node> {
    return this.#sees(await this.#options.client.get(Node, '', this.#options.node.name))
  }

  get #mayChange(): boolean {
    return this.#options.describe !== undefined || this.#runtime !== undefined
  }

  async #register(): Promise<V1Node> {
    const { client, node, makesNode = true } = this.#options
    const wanted = nodeObject(this.#description)
    if (makesNode) {
      try {
        await client.create(Node, wanted)
      } catch (error) {
        if (!isAlreadyExists(error)) throw error
        const { labels, annotations } = wanted.metadata ?? {}
        await client.patch(Node, { name: node.name }, { metadata: { labels, annotations } }, { type: 'merge' })
      }
    }
    return this.#report()
  }

  #report(): Promise<V1Node> {
    const { client, clock, node } = this.#options
    return retryOnConflict(clock, async () => {
      const present = await client.get(Node, '', node.name)
      const status = this.#statusAfter(present.status ?? {})
      this.#tellOfChanges(present.status ?? {}, status)
      const written = this.#sees(await client.updateStatus(Node, { ...present, status }))
      this.#lastReported = withoutHeartbeats(status)
      this.#lastReportedMs = clock.now()
      return written
    })
  }

  #sees(node: V1Node): V1Node {
    this.#node = node
    this.#options.onNode?.(node)
    return node
  }

  #statusAfter(previous: V1NodeStatus): V1NodeStatus {
    const { features, handlers } = this.#runtime?.latest ?? {}
    const description = {
      ...this.#description,
      ...defined({ features, runtimeHandlers: handlers }),
    }
    return nodeStatus(description, previous, formatTime(this.#options.clock.now()), this.#problems)
  }

  get #nextCheckMs(): number {
    if (!this.#mayChange) return this.#heartbeatMs
    return this.#problems.length > 0 ? Math.min(unreadyCheckMs, this.#checkMs) : this.#checkMs
  }

  get #problems(): NodeProblems {
    return [...(this.#runtime?.problems ?? []), ...(this.#options.otherProblems?.() ?? [])]
  }

  #checkAfter(delayMs: number): void {
    if (this.#isStopped) return
    const { clock, logger, node } = this.#options
    this.#timer?.cancel()
    this.#timer = clock.after(delayMs, () => {
      this.#check()
        .catch((error: unknown) => {
          // A node that was deleted by hand comes back.
          if (isNotFound(error)) return this.#register()
          throw error
        })
        .then(
          () => this.#checkAfter(this.#nextCheckMs),
          (error: unknown) => {
            logger.warn('failed to update node status', { node: node.name, error: String(error) })
            this.#checkAfter(this.#checkMs)
          },
        )
    })
  }

  /** Reports when something has changed, or it is time to. */
  async #check(): Promise<void> {
    const { describe, clock, logger } = this.#options
    await this.#runtime?.check()
    if (describe !== undefined) {
      try {
        this.#description = await describe()
      } catch (error) {
        logger.warn('failed to read machine capacity', { error: String(error) })
      }
    }
    const isDue = clock.now() - this.#lastReportedMs >= this.#heartbeatMs
    if (!isDue && this.#mayChange) {
      const seen = await this.refetch()
      if (isDeepStrictEqual(withoutHeartbeats(this.#statusAfter(seen.status ?? {})), this.#lastReported)) return
    }
    await this.#report()
  }

  #tellOfChanges({ conditions = [], nodeInfo }: V1NodeStatus, next: V1NodeStatus): void {
    if (!this.#mayChange) return
    const { node } = this.#options
    for (const { type, status } of next.conditions ?? []) {
      const before = findCondition(conditions, type)?.status
      const reason = conditionEvents[type]?.[status]
      // That a node is ready is news only where it was not before.
      if (reason === undefined || before === status || (type === 'Ready' && before === undefined)) continue
      this.#tell('Normal', reason, `Node ${node.name} status is now: ${reason}`)
    }
    const { bootId } = this.#description.info
    if (nodeInfo?.bootID && bootId !== undefined && nodeInfo.bootID !== bootId) {
      this.#tell('Warning', 'Rebooted', `Node ${node.name} has been rebooted, boot id: ${bootId}`)
    }
  }

  #tell(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { events, node } = this.#options
    events.recordFor({ kind: 'Node', name: node.name, uid: node.name, apiVersion: 'v1' }, type, reason, message)
  }
}

/** By condition and its status. */
const conditionEvents: Record<string, Record<string, string>> = {
  MemoryPressure: { False: 'NodeHasSufficientMemory', True: 'NodeHasInsufficientMemory' },
  DiskPressure: { False: 'NodeHasNoDiskPressure', True: 'NodeHasDiskPressure' },
  PIDPressure: { False: 'NodeHasSufficientPID', True: 'NodeHasInsufficientPID' },
  Ready: { True: 'NodeReady', False: 'NodeNotReady' },
}
