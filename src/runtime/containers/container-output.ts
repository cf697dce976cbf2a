/** What a container writes: from its pipes or its terminal into its log, and to everybody who is attached. */
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import type { Clock } from '#base/clock.ts'
import { descriptors } from '#base/descriptors.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files, OpenFile } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { LogLines } from '#runtime/containers/log-lines.ts'

export type OutputListener = (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void

export type ContainerOutputOptions = {
  /** None where the container has no log. */
  logFile: string
  /** Nobody can write any more. */
  onEnd?(): void
  clock: Clock
  files: Files
  logger: Logger
}

/** Whoever writes faster than the disk takes waits. */
const mostPendingBytes = 1 << 20

export class ContainerOutput {
  readonly #options: ContainerOutputOptions
  readonly #lines = { stdout: new LogLines('stdout'), stderr: new LogLines('stderr') }
  readonly #sources: Duplex[] = []
  readonly #ends: Promise<void>[] = []
  readonly #listeners = new Set<OutputListener>()
  #terminal: number | undefined
  #terminalStream: Duplex | undefined
  #log: OpenFile | undefined
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  #writing: Promise<void> | undefined

  constructor(options: ContainerOutputOptions) {
    this.#options = options
  }

  readPipe(stream: 'stdout' | 'stderr', path: string): void {
    this.#read(stream, descriptors.readFifo(path))
  }

  /** Takes the descriptor over. */
  readTerminal(descriptor: number): void {
    this.#terminal = descriptor
    this.#terminalStream = descriptors.terminalStream(descriptor)
    this.#read('stdout', this.#terminalStream)
  }

  /** The container's input and output in one, where it has a terminal. */
  get terminal(): Duplex | undefined {
    return this.#terminalStream
  }

  resizeTerminal(size: { columns: number; rows: number }): void {
    if (this.#terminal !== undefined && !this.#terminalStream?.destroyed) descriptors.setTerminalSize(this.#terminal, size)
  }

  listen(listener: OutputListener): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  take(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    for (const listener of this.#listeners) listener(stream, bytes)
    for (const piece of this.#lines[stream].add(bytes, this.#options.clock.nowMicros())) this.#append(piece)
    this.#flush()
  }

  /** Resolves when all that was written is in the log; what still writes after `patienceMs` is not waited for. */
  async end(patienceMs: number): Promise<void> {
    const over = new AbortController()
    const patience = this.#options.clock.sleep(patienceMs, over.signal).catch(() => {})
    await Promise.race([Promise.all(this.#ends), patience])
    over.abort()
    this.#stopReading()
    for (const stream of ['stdout', 'stderr'] as const) {
      for (const piece of this.#lines[stream].end(this.#options.clock.nowMicros())) this.#append(piece)
    }
    this.#flush()
    await this.#writing
    await this.#log?.close()
    this.#log = undefined
  }

  /** Goes on with a new file of the same name. */
  async reopen(): Promise<void> {
    await this.#writing
    await this.#log?.close()
    this.#log = undefined
    if (this.#options.logFile !== '') this.#log = await this.#open()
  }

  /** Leaves the container writing, for the next agent to read. */
  async leave(): Promise<void> {
    this.#stopReading()
    await this.#writing
    await this.#log?.close()
  }

  #isLeft = false

  #stopReading(): void {
    this.#isLeft = true
    for (const source of this.#sources) source.destroy()
  }

  #read(stream: 'stdout' | 'stderr', source: Duplex): void {
    this.#sources.push(source)
    const ended = new Promise<void>((resolve) => source.once('close', resolve).once('end', resolve))
    this.#ends.push(ended)
    void ended.then(() => this.#isLeft || this.#options.onEnd?.())
    // A terminal whose last program has gone fails to be read.
    source.on('error', () => source.destroy())
    source.on('data', (bytes: Buffer) => this.take(stream, bytes))
  }

  #append(piece: Uint8Array): void {
    if (this.#options.logFile === '') return
    this.#pending.push(piece)
    this.#pendingBytes += piece.length
    if (this.#pendingBytes > mostPendingBytes) for (const source of this.#sources) source.pause()
  }

  #flush(): void {
    if (this.#pending.length === 0 || this.#writing !== undefined) return
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined
      for (const source of this.#sources) if (source.isPaused()) source.resume()
      this.#flush()
    })
  }

  async #write(): Promise<void> {
    const bytes = Buffer.concat(this.#pending)
    this.#pending = []
    this.#pendingBytes = 0
    try {
      this.#log ??= await this.#open()
      await this.#log.write(bytes)
    } catch (error) {
      // A full disk must not stop the container; what could not be written is lost, and said to be.
      this.#options.logger.warn('failed to write the log of a container', { file: this.#options.logFile, error: errorMessage(error) })
    }
  }

  async #open(): Promise<OpenFile> {
    const { files, logFile } = this.#options
    await files.makeDirectory(dirname(logFile), { mode: 0o755 })
    return files.open(logFile, 'a', 0o640)
  }
}
