import type { Clock, Timer } from '#base/clock.ts'
import { type Status, unschedulable } from '#scheduler/framework/status.ts'

type Waiting = {
  readonly plugins: Map<string, Timer>
  settle(status: Status | undefined): void
  readonly settled: Promise<Status | undefined>
}

/** Pods that have a node and wait until every plugin that asked for it has permitted them. */
export class WaitingPods {
  readonly #clock: Clock
  readonly #waiting = new Map<string, Waiting>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  hold(uid: string, waitMsByPlugin: ReadonlyMap<string, number>): void {
    const { promise, resolve } = Promise.withResolvers<Status | undefined>()
    const plugins = new Map<string, Timer>()
    this.#waiting.set(uid, { plugins, settle: resolve, settled: promise })
    for (const [plugin, waitMs] of waitMsByPlugin) {
      const onTimeout = () => this.reject(uid, plugin, `timeout after waiting ${waitMs} ms at plugin "${plugin}"`)
      plugins.set(plugin, this.#clock.after(waitMs, onTimeout))
    }
  }

  isWaiting(uid: string): boolean {
    return this.#waiting.has(uid)
  }

  /** Undefined once all have permitted it, and right away when nobody held it. */
  settled(uid: string): Promise<Status | undefined> {
    return this.#waiting.get(uid)?.settled ?? Promise.resolve(undefined)
  }

  allow(uid: string, plugin: string): void {
    const waiting = this.#waiting.get(uid)
    waiting?.plugins.get(plugin)?.cancel()
    waiting?.plugins.delete(plugin)
    if (waiting?.plugins.size === 0) this.#end(uid, undefined)
  }

  reject(uid: string, plugin: string, reason: string): void {
    if (this.#waiting.has(uid)) this.#end(uid, { ...unschedulable(reason), plugin })
  }

  #end(uid: string, status: Status | undefined): void {
    const waiting = this.#waiting.get(uid)
    this.#waiting.delete(uid)
    for (const timer of waiting?.plugins.values() ?? []) timer.cancel()
    waiting?.settle(status)
  }
}
