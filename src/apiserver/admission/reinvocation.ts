/** Plugins change an object one after the other; once somebody from outside has changed it, all may look at it a second time. */

import type { Kind } from '#api/kind.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalityOf } from '#api/meta/equality.ts'
import type { KubernetesObject } from '#api/resource.ts'

/** The rounds of one request. There are two at most: whoever changes things back and forth finds no end otherwise. */
export class Rounds {
  #isRepeat = false
  #isRepeatWanted = false
  /** Made when needed: nearly no request needs it. */
  #invocations: Map<string, Invocations> | undefined

  get isRepeat(): boolean {
    return this.#isRepeat
  }

  get isRepeatWanted(): boolean {
    return this.#isRepeatWanted
  }

  /** The object is another one now: everybody shall see it once more. */
  wantRepeat(): void {
    this.#isRepeatWanted = true
  }

  beginRepeat(): void {
    this.#isRepeat = true
  }

  /** What a plugin that asks others remembers of the first round. */
  invocationsOf(plugin: string): Invocations {
    this.#invocations ??= new Map()
    return this.#invocations.getOrInsertComputed(plugin, () => new Invocations())
  }
}

/** Those whom a plugin has asked, and who of them is to be asked again. */
export class Invocations {
  readonly #invoked = new Set<string>()
  readonly #again = new Set<string>()
  #lastOutput: KubernetesObject | undefined
  /** When the first of them was asked. */
  startedMs: number | undefined

  /** In the second round: somebody else has changed the object since. */
  begin(rounds: Rounds, object: KubernetesObject | undefined, kind: Pick<Kind, 'schema'>): void {
    if (rounds.isRepeat && !equalityOf(kind)(this.#lastOutput, object)) this.#askAgain()
  }

  /** Nobody is asked for the first time in the second round. */
  isDue(uid: string, rounds: Rounds): boolean {
    return !rounds.isRepeat || this.#again.has(uid)
  }

  invoked(uid: string, rounds: Rounds, { isChanged, wantsRepeat }: { isChanged: boolean; wantsRepeat: boolean }): void {
    if (isChanged) {
      this.#askAgain()
      rounds.wantRepeat()
    }
    if (wantsRepeat) this.#invoked.add(uid)
  }

  /** Only those who would be asked again need to know whether that is called for. */
  end(rounds: Rounds, object: KubernetesObject | undefined): void {
    if (!rounds.isRepeat && this.#invoked.size > 0) this.#lastOutput = object && deepCopy(object)
  }

  #askAgain(): void {
    for (const uid of this.#invoked) this.#again.add(uid)
    this.#invoked.clear()
  }
}
