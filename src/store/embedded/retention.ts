import type { Clock, Timer } from '#base/clock.ts'

type Mark = { at: number; revision: number }

/** Marks per window: how much longer than asked history may live. */
const marksPerWindow = 20

/** Tells which revision is older than the window. While nothing is written it does nothing at all. */
export class Retention {
  readonly #clock: Clock
  readonly #windowMs: number
  readonly #onAged: (revision: number) => void
  readonly #marks: Mark[] = []
  #timer: Timer | undefined

  constructor(clock: Clock, windowMs: number, onAged: (revision: number) => void) {
    this.#clock = clock
    this.#windowMs = windowMs
    this.#onAged = onAged
  }

  /** Something was written. */
  note(revision: number): void {
    if (!Number.isFinite(this.#windowMs)) return
    const now = this.#clock.monotonic()
    const last = this.#marks.at(-1)
    if (last && now - last.at < this.#windowMs / marksPerWindow) {
      last.revision = revision
      return
    }
    this.#marks.push({ at: now, revision })
    this.#arm()
  }

  close(): void {
    this.#timer?.cancel()
    this.#marks.length = 0
  }

  #arm(): void {
    const oldest = this.#marks[0]
    if (!oldest || this.#timer) return
    // A mark stands for everything written in its share of the window, the last of it just before the next mark.
    const due = oldest.at + this.#windowMs * (1 + 1 / marksPerWindow)
    this.#timer = this.#clock.after(Math.max(0, due - this.#clock.monotonic()), () => {
      this.#timer = undefined
      this.#marks.shift()
      this.#onAged(oldest.revision)
      this.#arm()
    })
  }
}
