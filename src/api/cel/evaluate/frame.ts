/** One run of an expression: its variables, and what it has cost so far. */
import type { CelError, Value } from '#api/cel/values/value.ts'

/** Undefined for what has no value. */
export type Activation = (name: string) => Value | undefined

/** Not to be got over by `||`: the run is over. */
export class CostExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded')
  }
}

export class Frame {
  /** Variables of loops, by their slots. An error there is thrown by whoever reads it. */
  readonly slots: (Value | CelError)[]
  readonly variable: Activation
  readonly #limit: number
  cost = 0

  constructor(variable: Activation, slotCount: number, limit: number) {
    this.variable = variable
    this.slots = new Array(slotCount).fill(null)
    this.#limit = limit
  }

  /** Ends the run where this could not be paid for, and costs nothing otherwise: what fails is not paid. */
  mustAfford(cost: number): void {
    if (this.cost + cost > this.#limit) throw new CostExceeded()
  }

  charge(cost: number): void {
    this.cost += cost
    if (this.cost > this.#limit) throw new CostExceeded()
  }
}

export type Run = (frame: Frame) => Value
