/** Keeps the logs of running containers from filling the disk: a file that has grown too long is put aside and another one begun. */
import { basename, dirname, join } from 'node:path'
import type { Clock, Timer } from '#base/clock.ts'
import { gzipPieces } from '#base/compression.ts'
import type { Files, OpenFile } from '#base/files.ts'
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

const pieceBytes = 1 << 20
/** Of what is being compressed; what an earlier run has left of it is worth nothing. */
const draft = '.tmp'

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
      const failed = (error: unknown) => logger.warn('failed to rotate container log', { logFile, error: String(error) })
      const { sizeBytes = 0 } = (await files.stat(logFile).catch(failed)) ?? {}
      if (sizeBytes < maxBytes) continue
      // Neither keeps the other from being done: a log that is not put aside grows, and so do those that are not tidied.
      await this.#rotate(id, logFile).catch(failed)
      await this.#tidy(logFile).catch(failed)
    }
  }

  async #rotate(id: string, logFile: string): Promise<void> {
    const { clock, files, reopen } = this.#options
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
    const found = (await files.list(directory)).filter((name) => name.startsWith(`${basename(logFile)}.`))
    const aside = new Set(found.filter((name) => !name.endsWith(draft)))
    // What was being compressed when we were stopped is there twice.
    const kept = [...aside].filter((name) => !aside.has(`${name}.gz`)).slice(-Math.max(1, maxFiles - 1))
    const isKept = new Set(kept)
    for (const name of found) if (!isKept.has(name)) await files.remove(join(directory, name))
    for (const name of kept.slice(0, -1)) if (!name.endsWith('.gz')) await this.#compress(join(directory, name))
  }

  /** Piece by piece: a container may have written more in one round than fits into memory. */
  async #compress(path: string): Promise<void> {
    const { files } = this.#options
    {
      await using source = await files.open(path, 'r')
      await using target = await files.open(`${path}${draft}`, 'w', 0o640)
      for await (const piece of gzipPieces(piecesOf(source))) await target.write(piece)
      await target.sync()
    }
    await files.rename(`${path}${draft}`, `${path}.gz`)
    await files.remove(path)
  }
}

async function* piecesOf(file: Pick<OpenFile, 'readAt'>): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const piece = await file.readAt(at, pieceBytes)
    if (piece.length > 0) yield piece
    if (piece.length < pieceBytes) return
    at += piece.length
  }
}

/** `20260102-150405` */
function timestamp(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T')
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`
}
