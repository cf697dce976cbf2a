/** Keeps the logs of running containers from filling the disk: a file that has grown too long is put aside and another one begun. */
import { basename, dirname, join } from 'node:path'
import type { Clock, Timer } from '#base/clock.ts'
import { gzip } from '#base/compression.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'

export type RotationPolicy = {
  maxBytes: number
  /** Of one container, the one that is written to included. */
  maxFiles: number
  everyMs: number
  /** So many at a time; one after the other unless said otherwise. */
  workers?: number
}

export type LogRotationOptions = RotationPolicy & {
  clock: Clock
  files: Files
  logger: Logger
  /** The containers that run, and where their output goes. */
  logs(): Iterable<{ id: string; logFile: string }>
  /** The runtime shall write to a new file of the same name. */
  reopen(id: string): Promise<void>
}

export const usualRotation: RotationPolicy = { maxBytes: 10 * 2 ** 20, maxFiles: 5, everyMs: 10_000 }

export class LogRotation implements Disposable {
  readonly #options: LogRotationOptions
  readonly #timer: Timer
  #isBusy = false

  constructor(options: LogRotationOptions) {
    this.#options = options
    this.#timer = options.clock.every(options.everyMs, () => void this.rotateAll())
  }

  [Symbol.dispose](): void {
    this.#timer.cancel()
  }

  /** Looks at all logs now; does nothing while an earlier look goes on. */
  async rotateAll(): Promise<void> {
    const { logs, workers = 1 } = this.#options
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      const due = [...logs()].values()
      // They share what is left of the list.
      await Promise.all(Array.from({ length: workers }, () => this.#rotateEach(due)))
    } finally {
      this.#isBusy = false
    }
  }

  async #rotateEach(due: Iterable<{ id: string; logFile: string }>): Promise<void> {
    const { files, logger, maxBytes } = this.#options
    for (const { id, logFile } of due) {
      try {
        const { sizeBytes = 0 } = (await files.stat(logFile)) ?? {}
        if (sizeBytes >= maxBytes) await this.#rotate(id, logFile)
      } catch (error) {
        logger.warn('failed to rotate container log', { logFile, error: String(error) })
      }
    }
  }

  async #rotate(id: string, logFile: string): Promise<void> {
    const { clock, files, reopen } = this.#options
    await this.#tidy(logFile)
    const aside = `${logFile}.${timestamp(clock.now())}`
    // One was put aside within this very second: it is the next look's.
    for (const path of [aside, `${aside}.gz`]) if ((await files.stat(path)) !== undefined) return
    await files.rename(logFile, aside)
    try {
      await reopen(id)
    } catch (error) {
      await files.rename(aside, logFile)
      throw error
    }
  }

  /** Removes the oldest and compresses the others. The youngest stays as it is until the next time: somebody may still read it. */
  async #tidy(logFile: string): Promise<void> {
    const { files, maxFiles } = this.#options
    const directory = dirname(logFile)
    const aside = (await files.list(directory)).filter((name) => name.startsWith(`${basename(logFile)}.`))
    // What was being compressed when we were stopped is there twice.
    const kept = aside.filter((name) => !aside.includes(`${name}.gz`))
    const oldest = kept.slice(0, Math.max(0, kept.length - Math.max(0, maxFiles - 2)))
    for (const name of aside) if (oldest.includes(name) || !kept.includes(name)) await files.remove(join(directory, name))
    for (const name of kept) {
      if (oldest.includes(name) || name.endsWith('.gz')) continue
      const path = join(directory, name)
      await files.write(`${path}.gz`, await gzip(await files.read(path)), { mode: 0o640 })
      await files.remove(path)
    }
  }
}

/** `20260102-150405` */
function timestamp(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T')
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`
}
