import type { KubernetesObject } from '#api/resource.ts'
import type { ObjectCache } from '#apiserver/watch-cache/object-cache.ts'
import type { Clock } from '#base/clock.ts'

const turnMs = 5
const objectsBetweenLooks = 32

/** Tells what a cache holds, a little in each turn, to somebody who follows its changes already. */
export class GradualReplay implements Disposable {
  readonly #following: Disposable
  #isOver = false
  #caughtUp: Promise<void> | undefined

  constructor(cache: ObjectCache, clock: Clock, callback: (object: KubernetesObject, isDeleted: boolean) => void, following: Disposable) {
    this.#following = following
    if (cache.size > 0) {
      this.#caughtUp = this.#replay(cache, clock, callback).finally(() => {
        this.#caughtUp = undefined
      })
    }
  }

  /** Absent once everything was told. */
  get caughtUp(): Promise<void> | undefined {
    return this.#caughtUp
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#following[Symbol.dispose]()
  }

  async #replay(cache: ObjectCache, clock: Clock, callback: (object: KubernetesObject, isDeleted: boolean) => void): Promise<void> {
    let startedMs = clock.monotonic()
    const objects = cache.list('')
    for (let index = 0; index < objects.length && !this.#isOver; index++) {
      const cached = objects[index]
      // One that has changed since was told of by the change.
      if (cached && cache.get(cached.key) === cached) callback(cached.peek(), false)
      if (index % objectsBetweenLooks !== objectsBetweenLooks - 1 || clock.monotonic() - startedMs < turnMs) continue
      await new Promise<void>((resolve) => clock.soon(resolve))
      startedMs = clock.monotonic()
    }
  }
}
