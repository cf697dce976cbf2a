import type { Clock } from '#base/clock.ts'
import { inTurns } from '#base/in-turns.ts'
import type { Steps } from '#base/steps.ts'

/** What takes long to make and is then used by every request: made once, in steps between which others are let in, for whoever asks first. */
export class MadeReady<K extends WeakKey, T> {
  readonly #made = new WeakMap<K, T | Promise<T>>()

  of(key: K, making: () => Steps<T>, clock: Pick<Clock, 'soon' | 'heldMs'>): T | Promise<T> {
    const known = this.#made.get(key)
    if (known !== undefined) return known
    const made = inTurns(making(), clock)
    this.#made.set(key, made)
    if (made instanceof Promise) {
      made.then(
        (value) => this.#made.set(key, value),
        () => this.#made.delete(key),
      )
    }
    return made
  }
}
