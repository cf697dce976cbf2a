/** Tells of processes that the kernel has killed because the whole machine had no memory left. */
import type { Clock, Timer } from '#base/clock.ts'
import type { KernelLog } from '#base/kernel-log.ts'

export type OomWatcherOptions = {
  log: KernelLog
  clock: Clock
  /** A warning about the node. */
  warn(reason: string, message: string): void
}

export type OomKill = { process: string; pid: number; victimGroup: string; isMachineWide: boolean }

/** The log cannot be waited for without a thread of its own; a look costs one system call. */
const lookMs = 10_000

const summary = /^oom-kill:constraint=(\w+),.*?(global_oom|oom_memcg=[^,]*),task_memcg=([^,]*),task=(.*),pid=(\d+),uid=\d+/

/** Undefined where the message speaks of something else. */
export function oomKillIn(message: string): OomKill | undefined {
  const match = summary.exec(message)
  if (match === null) return undefined
  const [, , scope, victimGroup = '/', process = '', pid] = match
  return { process, pid: Number(pid), victimGroup, isMachineWide: scope === 'global_oom' }
}

export class OomWatcher implements Disposable {
  readonly #options: OomWatcherOptions
  readonly #timer: Timer

  constructor(options: OomWatcherOptions) {
    this.#options = options
    this.#timer = options.clock.every(lookMs, () => this.look())
  }

  look(): void {
    for (const message of this.#options.log.read()) {
      const kill = oomKillIn(message)
      // Those in groups with limits of their own are told of by their containers.
      if (kill?.victimGroup !== '/') continue
      const victim = kill.process === '' ? '' : `, victim process: ${kill.process}, pid: ${kill.pid}`
      this.#options.warn('SystemOOM', `System OOM encountered${victim}`)
    }
  }

  [Symbol.dispose](): void {
    this.#timer.cancel()
    this.#options.log[Symbol.dispose]()
  }
}
