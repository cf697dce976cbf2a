/** Groups that systemd keeps: whoever writes to their files himself is overruled by it. */
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import { type GroupLimits, weightOf } from '#kubelet/cgroups/group-limits.ts'

export class SystemdSlices {
  readonly #processes: Pick<Processes, 'run'>
  readonly #logger: Logger
  readonly #version: 1 | 2
  /** By slice, what was set last: most calls change nothing. */
  readonly #set = new Map<string, string>()

  constructor({ processes, logger, version }: { processes: Pick<Processes, 'run'>; logger: Logger; version: 1 | 2 }) {
    this.#processes = processes
    this.#logger = logger
    this.#version = version
  }

  /** Holds from when the first process of the slice is started. A slice that cannot be limited is told of; its pods run all the same. */
  async limit(slice: string, limits: GroupLimits): Promise<void> {
    const properties = sliceProperties(limits, this.#version)
    const text = properties.join(' ')
    if (this.#set.get(slice) === text || properties.length === 0) return
    if (await this.#systemctl('set-property', '--runtime', slice, ...properties)) this.#set.set(slice, text)
  }

  async remove(slice: string): Promise<void> {
    this.#set.delete(slice)
    await this.#systemctl('stop', slice)
    // Else what was set would hold for another slice of the same name.
    await this.#systemctl('revert', slice)
  }

  async #systemctl(...args: string[]): Promise<boolean> {
    const { exitCode, stderr } = await this.#processes
      .run('systemctl', args)
      .catch((error: unknown) => ({ exitCode: 1, stderr: String(error) }))
    if (exitCode !== 0) this.#logger.warn('systemctl failed', { command: args.join(' '), error: stderr.trim() })
    return exitCode === 0
  }
}

/** As systemd names them; an empty value takes back what was set. */
export function sliceProperties(limits: GroupLimits, version: 1 | 2): string[] {
  const { shares, quotaMicros, memoryBytes, pids, memoryMinBytes, memoryLowBytes } = limits
  const set = (name: string, value: string | number | undefined) => (value === undefined ? [] : [`${name}=${value}`])
  // Systemd counts whole hundredths of a processor.
  const quota = quotaMicros === undefined ? undefined : quotaMicros === 0 ? '' : `${Math.ceil(quotaMicros / 1000)}%`
  const memory = memoryBytes === undefined ? undefined : memoryBytes || 'infinity'
  const tasks = pids === undefined ? undefined : pids || 'infinity'
  if (version === 1) {
    return [...set('CPUShares', shares), ...set('CPUQuota', quota), ...set('MemoryLimit', memory), ...set('TasksMax', tasks)]
  }
  return [
    ...set('CPUWeight', shares === undefined ? undefined : weightOf(shares)),
    ...set('CPUQuota', quota),
    ...set('MemoryMax', memory),
    ...set('TasksMax', tasks),
    ...set('MemoryMin', memoryMinBytes),
    ...set('MemoryLow', memoryLowBytes),
  ]
}
