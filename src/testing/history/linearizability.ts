/**
 * Whether what clients saw could have come from one copy of the data on which one thing happens after another: each operation at one
 * moment between its call and its return. The search of Wing and Gong, with Lowe's memory of what was tried.
 */

/** A kind of object, seen from outside. States are compared by their text. */
export type Model<State, Call, Result> = {
  initial: State
  /** The states in which the object may be if the call was made in `state` and answered by this; none where it cannot have been. */
  step(state: State, call: Call, result: Result): readonly State[]
  text(state: State): string
}

export type Operation<Call, Result> = {
  client: string
  call: Call
  /** Of one clock for all clients. */
  calledMs: number
  /** Infinity where nobody knows whether it took place: it may yet take place, or never. */
  returnedMs: number
  result: Result
}

/** `stuckAt`: the operations of which none fits behind the longest order that was found. */
export type Verdict<Call, Result> = { isLinearizable: true } | { isLinearizable: false; stuckAt: Operation<Call, Result>[] }

type Entry = { operation: number; isCall: boolean; atMs: number }

export function checkLinearizability<State, Call, Result>(
  operations: readonly Operation<Call, Result>[],
  model: Model<State, Call, Result>,
): Verdict<Call, Result> {
  const search = new Search(operations, model)
  return search.run()
}

class Search<State, Call, Result> {
  readonly #operations: readonly Operation<Call, Result>[]
  readonly #model: Model<State, Call, Result>
  readonly #entries: readonly Entry[]
  readonly #tried = new Set<string>()
  #longest = -1
  #stuckAt: Operation<Call, Result>[] = []

  constructor(operations: readonly Operation<Call, Result>[], model: Model<State, Call, Result>) {
    this.#operations = operations
    this.#model = model
    // At the same moment a call counts as earlier: then the two may have overlapped, and more orders are allowed, not fewer.
    this.#entries = operations
      .flatMap(({ calledMs, returnedMs }, operation): Entry[] => [
        { operation, isCall: true, atMs: calledMs },
        { operation, isCall: false, atMs: returnedMs },
      ])
      .sort((one, other) => one.atMs - other.atMs || Number(other.isCall) - Number(one.isCall))
  }

  run(): Verdict<Call, Result> {
    type Frame = { done: bigint; state: State; choices: { done: bigint; state: State }[] }
    const begin = (done: bigint, state: State): Frame => ({ done, state, choices: this.#choices(done, state) })
    const stack: Frame[] = [begin(0n, this.#model.initial)]
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      if (this.#isComplete(frame.done)) return { isLinearizable: true }
      const choice = frame.choices.pop()
      if (choice === undefined) {
        stack.pop()
        continue
      }
      const mark = `${choice.done.toString(36)} ${this.#model.text(choice.state)}`
      if (this.#tried.has(mark)) continue
      this.#tried.add(mark)
      stack.push(begin(choice.done, choice.state))
    }
    return { isLinearizable: false, stuckAt: this.#stuckAt }
  }

  /** What may come next: whatever was called before anything that is left had returned. */
  #choices(done: bigint, state: State): { done: bigint; state: State }[] {
    const choices: { done: bigint; state: State }[] = []
    const open: Operation<Call, Result>[] = []
    for (const { operation: index, isCall } of this.#entries) {
      if ((done >> BigInt(index)) & 1n) continue
      const operation = this.#operations[index] as Operation<Call, Result>
      if (!isCall) break
      open.push(operation)
      for (const next of this.#model.step(state, operation.call, operation.result))
        choices.push({ done: done | (1n << BigInt(index)), state: next })
    }
    const length = bitCount(done)
    if (length > this.#longest) {
      this.#longest = length
      this.#stuckAt = open
    }
    // Popped from the end: the earliest is tried first, which is right nearly always.
    return choices.reverse()
  }

  /** Those of which nobody knows need not have taken place. */
  #isComplete(done: bigint): boolean {
    return this.#operations.every(
      ({ returnedMs }, index) => returnedMs === Number.POSITIVE_INFINITY || ((done >> BigInt(index)) & 1n) === 1n,
    )
  }
}

function bitCount(bits: bigint): number {
  let count = 0
  for (let rest = bits; rest > 0n; rest >>= 1n) count += Number(rest & 1n)
  return count
}
