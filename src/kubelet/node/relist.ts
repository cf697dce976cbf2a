import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { formatDurationMs } from '#base/duration.ts'
import type { Logger } from '#base/log.ts'
import type { RuntimeHelper } from '#kubelet/pod-worker/runtime-helper.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

export type RelistOptions = {
  runtime: Runtime
  runtimeHelper: RuntimeHelper
  clock: Clock
  logger: Logger
  everyMs: number
  isKnown(podUid: string): boolean
  known(): Iterable<string>
  look(podUid: string): void
  /** The runtime has answered. */
  onRelist?(startedMs: number): void
}

/** Time for containers to end of which nobody knows how long they may take. */
const orphanGraceMs = 2000

/** So long no answer of the runtime is needed before the node is said not to be ready. */
const patienceMs = 180_000

/**
 * Compares what the runtime has with what was looked at, since events may be lost, and ends what belongs to no pod any more: pods
 * that were deleted while no agent ran.
 */
export class Relist implements Disposable {
  readonly #options: RelistOptions
  #seen: ReadonlyMap<string, string> = new Map()
  readonly #orphans = new Set<string>()
  #timer: Timer | undefined
  #answeredMs: number | undefined
  #isStopped = false

  constructor(options: RelistOptions) {
    this.#options = options
  }

  /** Without relists, ends that events have missed are never found. */
  get problems(): string[] {
    if (this.#answeredMs === undefined) return []
    const silentMs = this.#options.clock.now() - this.#answeredMs
    if (silentMs <= patienceMs) return []
    const ago = formatDurationMs(silentMs)
    return [`PLEG is not healthy: pleg was last seen active ${ago} ago; threshold is ${formatDurationMs(patienceMs)}`]
  }

  start(): void {
    void this.#relist()
  }

  [Symbol.dispose](): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #relist(): Promise<void> {
    const { clock, logger, everyMs, onRelist } = this.#options
    const startedMs = clock.now()
    try {
      await this.#compare()
      this.#answeredMs = clock.now()
      onRelist?.(startedMs)
    } catch (error) {
      logger.debug('failed to list pod sandboxes and containers', { error: String(error) })
    }
    if (!this.#isStopped) this.#timer = clock.after(everyMs, () => void this.#relist())
  }

  async #compare(): Promise<void> {
    const { runtime, known, look } = this.#options
    const snapshot = await runtime.snapshot?.()
    const present = snapshot === undefined ? await runtime.podUids() : [...snapshot.keys()]
    if (this.#isStopped) return
    if (snapshot === undefined) {
      for (const uid of known()) look(uid)
    } else {
      const before = this.#seen
      this.#seen = snapshot
      for (const uid of known()) {
        const states = snapshot.get(uid)
        if (before.get(uid) === states) continue
        // What the agent has done itself since the last list, it has looked at already.
        if (states === undefined || runtime.lastObserved?.(uid) !== states) look(uid)
      }
    }
    for (const uid of present) this.#endIfOrphan(uid)
  }

  #endIfOrphan(uid: string): void {
    if (this.#options.isKnown(uid) || this.#orphans.has(uid)) return
    this.#orphans.add(uid)
    this.#end(uid)
      .catch((error: unknown) => this.#options.logger.warn('failed to kill orphaned pod', { uid, error: String(error) }))
      .finally(() => this.#orphans.delete(uid))
  }

  async #end(uid: string): Promise<void> {
    const { runtime, runtimeHelper, isKnown, logger } = this.#options
    logger.info('killing orphaned pod', { uid })
    const { containers, sandboxes } = await runtime.observe(uid)
    const running = containers.filter(({ state }) => state === 'running')
    await Promise.all(running.map(({ id }) => runtime.stopContainer(id, orphanGraceMs)))
    for (const { id } of sandboxes) await runtime.stopSandbox(id)
    // Somebody may want it after all by now.
    if (isKnown(uid)) return
    for (const { id } of containers) await runtime.removeContainer(id)
    for (const { id } of sandboxes) await runtime.removeSandbox(id)
    await runtimeHelper.cleanUp(orphan(uid))
  }
}

/** All that is known of it. */
const orphan = (uid: string): V1Pod => ({ metadata: { uid, name: '', namespace: '' }, spec: { containers: [] } })
