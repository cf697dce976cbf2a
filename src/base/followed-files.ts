import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'

/** Whoever changes files writes several, or one in several steps: they are read this long after the first change. */
export type Settling = { clock: Clock; ms: number }

/**
 * Files that are read at the start and again after every change. Make this before the first reading: what is written between
 * reading and watching would never be heard of. Readings follow one another: of two at once the older could end last.
 */
export class FollowedFiles implements Disposable {
  readonly #settling: Settling | undefined
  readonly #watches = new DisposableStack()
  /** The first reading fails for the same reason, and says it better. */
  #watchFailure: { error: unknown } | undefined
  #read: (() => Promise<void>) | undefined
  #hasChanged = false
  #isReading = false
  #timer: Timer | undefined

  constructor(watch: (onChange: () => void) => Disposable | Disposable[], settling?: Settling) {
    this.#settling = settling
    try {
      for (const watching of [watch(() => this.#changed())].flat()) this.#watches.use(watching)
    } catch (error) {
      this.#watchFailure = { error }
    }
  }

  static at(paths: readonly string[], files: Pick<Files, 'watch'>, settling?: Settling): FollowedFiles {
    return new FollowedFiles((onChange) => paths.map((path) => files.watch(path, onChange)), settling)
  }

  /** From now on, `read` is called after every change since this was made. */
  readAgain(read: () => Promise<void>, onFailure: (error: unknown) => void): void {
    if (this.#watchFailure !== undefined) throw this.#watchFailure.error
    this.#read = () => read().catch(onFailure)
    if (this.#hasChanged) this.#changed()
  }

  [Symbol.dispose](): void {
    this.#watches.dispose()
    this.#timer?.cancel()
    this.#read = undefined
  }

  #changed(): void {
    this.#hasChanged = true
    if (this.#read === undefined || this.#isReading) return
    if (this.#settling === undefined) void this.#readChanged()
    else this.#timer ??= this.#settling.clock.after(this.#settling.ms, () => void this.#readChanged())
  }

  async #readChanged(): Promise<void> {
    this.#timer = undefined
    this.#hasChanged = false
    this.#isReading = true
    await this.#read?.()
    this.#isReading = false
    if (this.#hasChanged) this.#changed()
  }
}
