import { Node } from '#api/core/v1/node/node.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { isAlreadyExists, isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { retryOnConflict } from '#client/retry.ts'
import { type HookRunner, hookRunner } from '#kubelet/hooks/hook-runner.ts'
import { NodeLease } from '#kubelet/node/node-lease.ts'
import { type NodeDescription, nodeObject, nodeStatus } from '#kubelet/node/node-object.ts'
import type { PodFeed } from '#kubelet/node/pod-feed.ts'
import { noSurroundings, type PodSurroundings } from '#kubelet/pod-worker/pod-surroundings.ts'
import { PodWorker } from '#kubelet/pod-worker/pod-worker.ts'
import type { PodProbes } from '#kubelet/probes/pod-probes.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'
import { StatusManager } from '#kubelet/status/status-manager.ts'

export type NodeAgentOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  node: NodeDescription
  runtime: Runtime
  surroundings?: PodSurroundings
  probes: PodProbes
  hooks?: HookRunner
  pods: PodFeed
}

const heartbeatMs = 300_000
const retryMs = 10_000

/** One node: it registers, shows that it lives, and runs the pods that are bound to it. */
export class NodeAgent {
  readonly #options: NodeAgentOptions
  readonly #statuses: StatusManager
  readonly #events: EventRecorder
  readonly #workers = new Map<string, PodWorker>()
  readonly #following = new DisposableStack()
  #lease: NodeLease | undefined
  #heartbeat: Timer | undefined
  #isStopped = false

  constructor(options: NodeAgentOptions) {
    this.#options = options
    const { client, clock, logger, pods, node } = options
    this.#statuses = new StatusManager({ client, clock, logger, knownPod: (namespace, name) => pods.get(namespace, name) })
    this.#events = new EventRecorder({ client, clock, logger, component: 'kubelet', host: node.name })
  }

  get name(): string {
    return this.#options.node.name
  }

  /** Resolves when the node is registered and looks after its pods. */
  async start(): Promise<void> {
    const { client, clock, random, logger, pods, runtime } = this.#options
    const node = await this.#register()
    if (this.#isStopped) return
    this.#lease = new NodeLease({ client, clock, random, logger, node })
    await this.#lease.start()
    if (this.#isStopped) return
    this.#statuses.start()
    this.#following.use(runtime.onEvent(({ podUid }) => this.#workers.get(podUid)?.look()))
    this.#following.use(pods.follow(this.name, { onPod: (pod) => this.#sees(pod), onPodGone: (pod) => this.#misses(pod) }))
    // Nodes that start together shall not report together for ever after.
    this.#beatAfter(heartbeatMs * (0.5 + random.float() / 2))
  }

  /** Leaves the pods running, and the node as it is. */
  stop(): void {
    this.#isStopped = true
    this.#following.dispose()
    this.#heartbeat?.cancel()
    this.#lease?.stop()
    for (const worker of this.#workers.values()) worker.stop()
    this.#statuses.stop()
  }

  /** Resolves when the events so far are written. */
  flushEvents(): Promise<void> {
    return this.#events.flush()
  }

  #sees(pod: V1Pod): void {
    const { uid = '' } = pod.metadata
    const worker = this.#workers.get(uid)
    if (worker !== undefined) {
      worker.update(pod)
      return
    }
    const { runtime, surroundings = noSurroundings, probes, clock, logger, node, hooks = hookRunner({ runtime, clock }) } = this.#options
    const made = new PodWorker(pod, {
      ...{ runtime, surroundings, probes, hooks, clock, logger, events: this.#events, hostIps: node.addresses },
      report: (current, status, isOver) => this.#statuses.tell(current, status, isOver),
      onGone: () => this.#workers.delete(uid),
    })
    this.#workers.set(uid, made)
    made.look()
  }

  #misses({ metadata }: V1Pod): void {
    const { uid = '' } = metadata
    this.#statuses.forget(uid)
    this.#workers.get(uid)?.remove()
  }

  async #register(): Promise<V1Node> {
    const { client, node } = this.#options
    const wanted = nodeObject(node)
    try {
      await client.create(Node, wanted)
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      const { labels, annotations } = wanted.metadata ?? {}
      await client.patch(Node, { name: node.name }, { metadata: { labels, annotations } }, { type: 'merge' })
    }
    return this.#reportStatus()
  }

  #reportStatus(): Promise<V1Node> {
    const { client, clock, node } = this.#options
    return retryOnConflict(clock, async () => {
      const present = await client.get(Node, '', node.name)
      const status = nodeStatus(node, present.status ?? {}, formatTime(clock.now()))
      return client.updateStatus(Node, { ...present, status })
    })
  }

  #beatAfter(delayMs: number): void {
    if (this.#isStopped) return
    const { clock, logger } = this.#options
    this.#heartbeat = clock.after(delayMs, () => {
      this.#reportStatus()
        .catch((error: unknown) => {
          // A node that was deleted by hand comes back.
          if (isNotFound(error)) return this.#register()
          throw error
        })
        .then(
          () => this.#beatAfter(heartbeatMs),
          (error: unknown) => {
            logger.warn('the status of a node could not be written', { node: this.name, error: String(error) })
            this.#beatAfter(retryMs)
          },
        )
    })
  }
}
