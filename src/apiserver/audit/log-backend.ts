/** Audit events as lines of JSON in a file, which is put aside when it has grown large. */

import { basename, dirname, extname, join } from 'node:path'
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import { jsonText } from '#api/codec/json-text.ts'
import type { Clock } from '#base/clock.ts'
import type { Files, OpenFile } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { AuditBackend } from './auditor.ts'

export type LogBackendOptions = {
  files: Files
  clock: Clock
  logger: Logger
  path: string
  /** 0: the file is never put aside. */
  maxSizeBytes: number
  /** How many old files are kept; 0: all. */
  maxBackups: number
  /** How long old files are kept; 0: for ever. */
  maxAgeMs: number
  onError(): void
}

const dayMs = 86_400_000
/** A disk that does not keep up shall not fill the memory. */
const backlogLimit = 10_000
const backlogCharacters = 64 << 20
/** Of lines that are written together. */
const batchLimitBytes = 1 << 20

export class LogBackend implements AuditBackend {
  readonly name = 'log'
  readonly #options: LogBackendOptions
  #file: OpenFile | undefined
  #sizeBytes = 0
  #backlog: string[] = []
  /** Of the backlog, and of what is being written. */
  #characters = 0
  #writing: Promise<void> | undefined

  constructor(options: LogBackendOptions) {
    this.#options = options
  }

  process(event: V1Event): void {
    if (this.#backlog.length >= backlogLimit || this.#characters >= backlogCharacters) {
      this.#options.onError()
      return
    }
    const line = `${jsonText(event)}\n`
    this.#backlog.push(line)
    this.#characters += line.length
    this.#writing ??= this.#drain()
  }

  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    await this.#file?.close()
    this.#file = undefined
  }

  async #drain(): Promise<void> {
    try {
      while (this.#backlog.length > 0) {
        // Lines that came while others were written go together.
        const lines = this.#backlog
        this.#backlog = []
        await this.#write(lines)
        for (const line of lines) this.#characters -= line.length
      }
    } catch (error) {
      this.#options.onError()
      this.#options.logger.error('failed to write audit events to log', { path: this.#options.path, error: String(error) })
      // What was written is lost already, and said so above.
      await this.#file?.close().catch(() => undefined)
      this.#file = undefined
      this.#characters = this.#backlog.reduce((sum, line) => sum + line.length, 0)
    } finally {
      this.#writing = undefined
    }
  }

  async #write(lines: readonly string[]): Promise<void> {
    const { maxSizeBytes } = this.#options
    let batch: string[] = []
    let batchBytes = 0
    const flush = async () => {
      if (batch.length === 0) return
      const bytes = Buffer.from(batch.join(''))
      batch = []
      batchBytes = 0
      await (this.#file ?? (await this.#open())).write(bytes)
      this.#sizeBytes += bytes.length
    }
    if (this.#file === undefined) await this.#open()
    for (const line of lines) {
      const lineBytes = Buffer.byteLength(line)
      if (maxSizeBytes > 0 && this.#sizeBytes + batchBytes + lineBytes > maxSizeBytes && this.#sizeBytes + batchBytes > 0) {
        await flush()
        await this.#putAside()
      }
      if (batchBytes > batchLimitBytes) await flush()
      batch.push(line)
      batchBytes += lineBytes
    }
    await flush()
  }

  async #open(): Promise<OpenFile> {
    const { files, path } = this.#options
    await files.makeDirectory(dirname(path))
    this.#file = await files.open(path, 'a', 0o600)
    this.#sizeBytes = await this.#file.sizeBytes()
    return this.#file
  }

  async #putAside(): Promise<void> {
    const { files, clock, path } = this.#options
    await this.#file?.close()
    this.#file = undefined
    await files.rename(path, join(dirname(path), `${this.#stem}-${backupTime(clock.now())}${extname(path)}`))
    await this.#open()
    await this.#dropOld()
  }

  async #dropOld(): Promise<void> {
    const { files, clock, path, maxBackups, maxAgeMs } = this.#options
    const extension = extname(path)
    const backups = (await files.list(dirname(path)))
      .filter((name) => name.startsWith(`${this.#stem}-`) && name.endsWith(extension))
      .map((name) => ({ name, atMs: backupMs(name.slice(this.#stem.length + 1, name.length - extension.length)) }))
      .filter((backup): backup is { name: string; atMs: number } => backup.atMs !== undefined)
      .sort((one, other) => other.atMs - one.atMs)
    const isOld = (atMs: number) => maxAgeMs > 0 && clock.now() - atMs > maxAgeMs
    for (const [index, { name, atMs }] of backups.entries()) {
      if ((maxBackups > 0 && index >= maxBackups) || isOld(atMs)) await files.remove(join(dirname(path), name))
    }
  }

  get #stem(): string {
    return basename(this.#options.path, extname(this.#options.path))
  }
}

export const daysMs = (days: number): number => days * dayMs

/** `2026-01-31T12-00-00.000`: no colons, which some file systems do not take. */
function backupTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '').replaceAll(':', '-')
}

function backupMs(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(text)
  return match ? Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}Z`) : undefined
}
