/** Follows what Docker keeps of a container's output, and writes it where logs of pods are looked for. */
import { dirname } from 'node:path'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files, OpenFile } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { type DockerClient, ifFound } from '#runtime/docker/docker-client.ts'
import { nanosOf } from '#runtime/docker/docker-names.ts'
import type { InspectedContainer } from '#runtime/docker/docker-types.ts'
import { JsonLogReader } from '#runtime/docker/json-log-reader.ts'
import { LogEntries } from '#runtime/docker/log-entries.ts'
import { type LogPosition, lastPosition } from '#runtime/docker/log-resume.ts'

export type ContainerLogOptions = {
  id: string
  logFile: string
  /** Where Docker keeps it; empty where it cannot be read there. */
  dockerFile: string
  isTerminal: boolean
  isNew: boolean
}
export type ContainerLogSeams = { docker: DockerClient; clock: Clock; files: Files; logger: Logger }

const retryMs = { first: 100, most: 2000 }

export class ContainerLog {
  /** Resolves when the file is there: whoever asks for the log of a silent container finds an empty one. */
  readonly opened: Promise<void>
  /** Resolves when the container has ended and all is written, or when it is left. */
  readonly done: Promise<void>
  readonly #options: ContainerLogOptions
  readonly #seams: ContainerLogSeams
  readonly #left = new AbortController()
  #file: OpenFile | undefined
  #turn: Promise<void> = Promise.resolve()

  constructor(options: ContainerLogOptions, seams: ContainerLogSeams) {
    this.#options = options
    this.#seams = seams
    // One that cannot be opened is tried again when there is something to write.
    this.opened = this.reopen().catch(() => {})
    this.done = this.#run().finally(() => this.#inTurn(() => this.#close()))
  }

  /** Goes on with a new file of the same name. */
  reopen(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#close()
      this.#file = await this.#open()
    })
  }

  /** Docker keeps what is written from now on, for the next agent. */
  async leave(): Promise<void> {
    this.#left.abort()
    await this.done
  }

  async #run(): Promise<void> {
    const { clock, logger, files } = this.#seams
    const { id, logFile, isNew } = this.#options
    let delayMs = retryMs.first
    let after: LogPosition | undefined
    let isKnown = isNew
    while (!this.#left.signal.aborted) {
      try {
        if (!isKnown) after = await lastPosition(logFile, files)
        isKnown = true
        if (await this.#hasDockerFile()) {
          // What is written meanwhile is known by the file itself.
          isKnown = false
          return await this.#followFile(after)
        }
        after = await this.#follow(after, (position) => {
          after = position
          delayMs = retryMs.first
        })
        if (!(await this.#isRunning())) return
      } catch (error) {
        if (this.#left.signal.aborted) return
        if (/No such container/.test(errorMessage(error))) return
        logger.debug('failed to follow the log of a container', { container: id, error: errorMessage(error) })
      }
      await clock.sleep(delayMs, this.#left.signal).catch(() => {})
      delayMs = Math.min(retryMs.most, delayMs * 2)
    }
  }

  async #hasDockerFile(): Promise<boolean> {
    const { dockerFile } = this.#options
    return dockerFile !== '' && (await this.#seams.files.stat(dockerFile)) !== undefined
  }

  /** Until the container ends. */
  async #followFile(after: LogPosition | undefined): Promise<void> {
    const { docker, files, logger } = this.#seams
    const { id, dockerFile } = this.#options
    const reader = new JsonLogReader(dockerFile, files, after)
    let news = Promise.withResolvers<void>()
    using _watching = files.watch(dirname(dockerFile), () => news.resolve())
    let outcome: { error?: unknown } | undefined
    const settle = (result: { error?: unknown }) => {
      outcome = result
      news.resolve()
    }
    const left = new AbortController()
    const signal = AbortSignal.any([this.#left.signal, left.signal])
    // Docker has written everything when it tells of the end.
    docker.json('POST', `/containers/${id}/wait`, { timeoutMs: 0, signal }).then(
      () => settle({}),
      (error: unknown) => settle({ error }),
    )
    try {
      for (;;) {
        news = Promise.withResolvers<void>()
        const before = outcome
        for await (const lines of reader.lines()) await this.#inTurn(() => this.#write(lines))
        if (before?.error !== undefined) throw before.error
        if (before !== undefined) return
        await (outcome === undefined ? news.promise : undefined)
      }
    } finally {
      left.abort()
      if (reader.hasLost) logger.warn('a container wrote faster than its log could be read; lines are missing', { container: id })
      await reader.close()
    }
  }

  async #follow(after: LogPosition | undefined, onProgress: (position: LogPosition | undefined) => void): Promise<LogPosition | undefined> {
    const { id, isTerminal } = this.#options
    const entries = new LogEntries(isTerminal, after)
    const since = after === undefined ? undefined : secondsOf(after.time)
    const query = { follow: true, stdout: true, stderr: true, timestamps: true, since }
    const body = await this.#seams.docker.stream('GET', `/containers/${id}/logs`, { query, signal: this.#left.signal })
    for await (const bytes of body) {
      const lines = entries.add(bytes)
      if (lines.length === 0) continue
      await this.#inTurn(() => this.#write(lines))
      onProgress(entries.position)
    }
    return entries.position
  }

  async #isRunning(): Promise<boolean> {
    const found = await ifFound(this.#seams.docker.json<InspectedContainer>('GET', `/containers/${this.#options.id}/json`))
    return found?.State.Running ?? false
  }

  async #write(lines: Uint8Array): Promise<void> {
    const { logger } = this.#seams
    try {
      this.#file ??= await this.#open()
      await this.#file.write(lines)
    } catch (error) {
      // A full disk must not stop the container; what could not be written is lost, and said to be.
      logger.warn('failed to write the log of a container', { file: this.#options.logFile, error: errorMessage(error) })
    }
  }

  async #open(): Promise<OpenFile> {
    const { files } = this.#seams
    const { logFile } = this.#options
    await files.makeDirectory(dirname(logFile), { mode: 0o755 })
    return files.open(logFile, 'a', 0o640)
  }

  async #close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }

  /** A file that is being written to is not changed for another. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(step)
    this.#turn = turn.catch(() => {})
    return turn
  }
}

/** As Docker takes it: seconds with all nine digits behind the point. */
function secondsOf(time: string): string {
  const nanos = nanosOf(time)
  return `${nanos / 1_000_000_000n}.${String(nanos % 1_000_000_000n).padStart(9, '0')}`
}
