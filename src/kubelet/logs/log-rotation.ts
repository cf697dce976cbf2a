/** Keeps log files of containers from growing without end: full ones are moved aside, older ones compressed, the oldest removed. */
import { join } from 'node:path'
import type { Clock, Timer } from '#base/clock.ts'
import { gzip } from '#base/compression.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

export type LogRotationOptions = {
  /** Has a directory for each pod, `NAMESPACE_NAME_UID`, with one for each container, in which `0.log`, `1.log`, … lie. */
  logDirectory: string
  /** A file as large as this is full. */
  maxSizeBytes: number
  /** With the one that is written to. */
  maxFiles: number
  /** How often they are looked at. */
  everyMs: number
  runtime: Pick<Runtime, 'observe' | 'reopenLog'>
  files: Files
  clock: Clock
  logger: Logger
}

export class LogRotation implements Disposable {
  readonly #options: LogRotationOptions
  readonly #timer: Timer
  #running: Promise<void> | undefined

  constructor(options: LogRotationOptions) {
    this.#options = options
    this.#timer = options.clock.every(options.everyMs, () => {
      this.#running ??= this.rotateFull()
        .catch((error: unknown) => options.logger.warn('logs could not be looked at', { error: String(error) }))
        .finally(() => {
          this.#running = undefined
        })
    })
  }

  [Symbol.dispose](): void {
    this.#timer.cancel()
  }

  /** Looks once; resolves when all that are full have been seen to. */
  async rotateFull(): Promise<void> {
    const { files, logDirectory, maxSizeBytes, logger } = this.#options
    for (const pod of await files.list(logDirectory)) {
      for (const container of await files.list(join(logDirectory, pod))) {
        const directory = join(logDirectory, pod, container)
        for (const name of await files.list(directory)) {
          if (!/^\d+\.log$/.test(name)) continue
          const path = join(directory, name)
          try {
            if (((await files.stat(path))?.sizeBytes ?? 0) >= maxSizeBytes) await this.#rotate(path, uidIn(pod))
          } catch (error) {
            logger.warn('a log could not be rotated', { path, error: String(error) })
          }
        }
      }
    }
  }

  async #rotate(path: string, podUid: string): Promise<void> {
    const { runtime, files, clock, maxFiles } = this.#options
    const { containers } = await runtime.observe(podUid)
    const writer = containers.find(({ logFile, state }) => logFile === path && state === 'running')
    // Who has ended writes no more.
    if (writer === undefined || runtime.reopenLog === undefined) return
    const older = await this.#older(path)
    // One place is for the file that is full now, one for the one that will be written to.
    const kept = older.slice(Math.max(0, older.length - Math.max(0, maxFiles - 2)))
    for (const file of older) if (!kept.includes(file)) await files.remove(file)
    for (const file of kept) if (!file.endsWith('.gz')) await this.#compress(file)
    const moved = `${path}.${timestamp(clock.now())}`
    await files.rename(path, moved)
    try {
      await runtime.reopenLog(writer.id)
    } catch (error) {
      await files.rename(moved, path)
      throw error
    }
  }

  /** Moved aside before, oldest first. What a compression that broke off left is removed. */
  async #older(path: string): Promise<string[]> {
    const { files } = this.#options
    const directory = join(path, '..')
    const prefix = `${path.slice(directory.length + 1)}.`
    const names = (await files.list(directory)).filter((name) => name.startsWith(prefix))
    const isLeftOver = (name: string) => name.endsWith('.draft') || names.includes(`${name}.gz`)
    for (const name of names.filter(isLeftOver)) await files.remove(join(directory, name))
    return names.filter((name) => !isLeftOver(name)).map((name) => join(directory, name))
  }

  async #compress(path: string): Promise<void> {
    const { files } = this.#options
    await files.write(`${path}.gz`, await gzip(await files.read(path)), { mode: 0o640 })
    await files.remove(path)
  }
}

/** The names of namespaces and pods have no underscore. */
const uidIn = (directory: string): string => directory.split('_')[2] ?? ''

/** `20260102-030405` */
function timestamp(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().slice(0, 19).split('T')
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`
}
