/** A component that is started again when it ends, as a machine's init would, whoever ended it. */
import { type ComponentProcess, startComponent } from '../support/component-process.ts'

export class KeptProcess implements AsyncDisposable {
  readonly #args: readonly string[]
  readonly #isReady: RegExp
  #process: ComponentProcess
  #starting: Promise<void> | undefined
  #isOver = false
  /** It ended by itself, such as one that no longer leads. */
  readonly endings: string[] = []
  readonly problems: string[] = []

  private constructor(args: readonly string[], isReady: RegExp, process: ComponentProcess) {
    this.#args = args
    this.#isReady = isReady
    this.#process = process
    this.#keep()
  }

  static async start(args: readonly string[], isReady: RegExp): Promise<KeptProcess> {
    return new KeptProcess(args, isReady, await startComponent(args, isReady))
  }

  get name(): string {
    return this.#args[0] ?? ''
  }

  /** Ends it, and resolves when it is there again. SIGTERM: it ends what it has begun first. */
  async restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#starting
    const process = this.#process
    this.#starting = process.stop(signal).then((code) => {
      if (signal === 'SIGTERM' && code !== 0) this.problems.push(`${this.name} was asked to end, and ended with ${code}`)
      return this.#startAgain()
    })
    await this.#starting
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process.child.kill(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#process.stop('SIGKILL')
    await this.#starting?.catch(() => {})
    await this.#process.stop('SIGKILL')
  }

  #keep(): void {
    const { child } = this.#process
    child.once('exit', (code, signal) => {
      if (this.#isOver || this.#starting !== undefined) return
      this.endings.push(`${this.name} ended with ${code ?? signal}: ${this.#process.output().trimEnd().split('\n').at(-1)}`)
      this.#starting = this.#startAgain()
      this.#starting.catch(() => {})
    })
  }

  async #startAgain(): Promise<void> {
    // What it depends on may be gone as well, for a while.
    for (let attempt = 1; !this.#isOver; attempt++) {
      try {
        this.#process = await startComponent(this.#args, this.#isReady)
        break
      } catch (error) {
        this.endings.push(String(error))
        if (attempt === 5) throw error
      }
    }
    this.#starting = undefined
    if (!this.#isOver) this.#keep()
  }
}
