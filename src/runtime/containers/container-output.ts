/** What a container writes: from its pipes or its terminal into its log, and to everybody who is attached. */
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import type { Clock } from '#base/clock.ts'
import { descriptors } from '#base/descriptors.ts'
import { endedOrQuiet } from '#base/ended-or-quiet.ts'
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

/** So much is written before anything else happens: what was read and is not written yet is lost with an agent that is killed. */
const mostAtOnceBytes = 16 * 1024
/** Whoever writes faster than the disk takes waits. */
const mostPendingBytes = 1 << 20
/** And then for so long: a container that only writes, however few of its lines are worth a processor, is not all there is to do. */
const restMs = 10
const saysEveryMs = 60_000

export class ContainerOutput {
  readonly #options: ContainerOutputOptions
  readonly #lines = { stdout: new LogLines('stdout'), stderr: new LogLines('stderr') }
  readonly #sources: Duplex[] = []
  readonly #listeners = new Set<OutputListener>()
  #terminal: number | undefined
  #terminalStream: Duplex | undefined
  #log: OpenFile | undefined
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  #writing: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()
  /** Steps that have begun or wait for their turn. */
  #turns = 0
  /** When it was last said that something is lost. */
  #saidMs = Number.NEGATIVE_INFINITY

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
    const written = this.#lines[stream].add(bytes, this.#options.clock.nowMicros())
    if (written.length === 0 || this.#isWrittenAtOnce(written)) return
    this.#append(written)
    this.#flush()
  }

  /** Resolves when all that was written is in the log; who holds it open without a word for `patienceMs` is not waited for. */
  async end(patienceMs: number): Promise<void> {
    await endedOrQuiet(this.#sources, { clock: this.#options.clock, quietMs: patienceMs })
    this.#stopReading()
    for (const stream of ['stdout', 'stderr'] as const) this.#append(this.#lines[stream].end(this.#options.clock.nowMicros()))
    this.#flush()
    await this.#closeLog()
  }

  /** Goes on with a new file of the same name. */
  reopen(): Promise<void> {
    if (this.#options.logFile === '') return Promise.resolve()
    return this.#inTurn(async () => {
      await this.#log?.close()
      this.#log = undefined
      this.#log = await this.#open()
    })
  }

  /** Leaves the container writing, for the next agent to read. */
  async leave(): Promise<void> {
    this.#stopReading()
    await this.#closeLog()
  }

  #isLeft = false

  #stopReading(): void {
    this.#isLeft = true
    for (const source of this.#sources) source.destroy()
  }

  #read(stream: 'stdout' | 'stderr', source: Duplex): void {
    this.#sources.push(source)
    const ended = new Promise<void>((resolve) => source.once('close', resolve).once('end', resolve))
    void ended.then(() => this.#isLeft || this.#options.onEnd?.())
    // A terminal whose last program has gone fails to be read.
    source.on('error', () => source.destroy())
    source.on('data', (bytes: Buffer) => this.take(stream, bytes))
  }

  /** Little, and after all that came before it. */
  #isWrittenAtOnce(bytes: Uint8Array): boolean {
    const isInTurn = this.#turns === 0 && this.#pending.length === 0
    if (!isInTurn || bytes.length > mostAtOnceBytes || this.#log?.writeAtOnce === undefined) return false
    try {
      this.#log.writeAtOnce(bytes)
    } catch (error) {
      this.#isLost(error)
    }
    return true
  }

  #append(piece: Uint8Array): void {
    if (this.#options.logFile === '' || piece.length === 0) return
    this.#pending.push(piece)
    this.#pendingBytes += piece.length
    if (this.#pendingBytes > mostPendingBytes) for (const source of this.#sources) source.pause()
  }

  #flush(): void {
    if (this.#pending.length === 0 || this.#writing !== undefined) return
    this.#writing = this.#inTurn(() => this.#write()).finally(() => {
      this.#writing = undefined
      if (this.#sources.some((source) => source.isPaused())) this.#options.clock.after(restMs, () => this.#goOn())
      this.#flush()
    })
  }

  #goOn(): void {
    if (this.#pendingBytes <= mostPendingBytes) for (const source of this.#sources) if (source.isPaused()) source.resume()
  }

  /** When nothing is left to be written: a write that has ended may have been followed by another. */
  async #closeLog(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    await this.#inTurn(async () => {
      await this.#log?.close()
      this.#log = undefined
    })
  }

  /** One after the other: a file that is being written to is not changed for another, and none is opened twice. */
  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turns++
    const turn = this.#last.then(step)
    this.#last = turn.catch(() => {}).then(() => void this.#turns--)
    return turn
  }

  async #write(): Promise<void> {
    const bytes = Buffer.concat(this.#pending)
    this.#pending = []
    this.#pendingBytes = 0
    try {
      this.#log ??= await this.#open()
      await this.#log.write(bytes)
    } catch (error) {
      this.#isLost(error)
    }
  }

  /** A full disk must not stop the container; what could not be written is lost, and said to be: not for every line, on that same disk. */
  #isLost(error: unknown): void {
    const nowMs = this.#options.clock.now()
    if (nowMs - this.#saidMs < saysEveryMs) return
    this.#saidMs = nowMs
    this.#options.logger.warn('failed to write the log of a container', { file: this.#options.logFile, error: errorMessage(error) })
  }

  async #open(): Promise<OpenFile> {
    const { files, logFile } = this.#options
    await files.makeDirectory(dirname(logFile), { mode: 0o755 })
    return files.open(logFile, 'a', 0o640)
  }
}
