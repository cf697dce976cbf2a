/** What the expressions of admission run on. */
import { admissionStructs } from '#api/cel/admission.ts'
import type { Program } from '#api/cel/environment.ts'
import { CostExceeded } from '#api/cel/evaluate/frame.ts'
import { type AccessAuthorizer, type AccessQuestion, authorizerValue, resourceCheckValue } from '#api/cel/library/authorizer.ts'
import { struct } from '#api/cel/types/cel-type.ts'
import { valueOfJson } from '#api/cel/values/json.ts'
import { typedValue } from '#api/cel/values/typed-json.ts'
import { CelError, CelObject, type Value } from '#api/cel/values/value.ts'

const structs = new Map(admissionStructs.map((type) => [type.name, type]))
const lookUp = (name: string) => structs.get(name)

/** What all expressions of one policy together may cost. */
export class Budget {
  #left: number
  constructor(total: number) {
    this.#left = total
  }
  spend(cost: number): void {
    this.#left -= cost
    if (this.#left < 0) throw new BudgetExceeded()
  }
}

export class BudgetExceeded extends Error {
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run')
  }
}

export type CompiledVariable = { readonly name: string; readonly program: Program | Error }

export type AdmissionValues = {
  readonly object: unknown
  readonly oldObject: unknown
  readonly params: unknown
  readonly namespaceObject: unknown
  readonly request: object
  readonly ask: AccessAuthorizer
  /** Where `authorizer.requestResource` begins. */
  readonly asked: Omit<AccessQuestion, 'verb'>
}

export class AdmissionInput {
  readonly #values: ReadonlyMap<string, Value>

  constructor(values: ReadonlyMap<string, Value>) {
    this.#values = values
  }

  withoutAuthorizer(): AdmissionInput {
    const values = new Map(this.#values)
    values.delete('authorizer')
    values.delete('authorizer.requestResource')
    return new AdmissionInput(values)
  }

  /** They are worked out when somebody asks for them, and only once. */
  withVariables(variables: readonly CompiledVariable[], budget: Budget): AdmissionInput {
    const values = new Map(this.#values)
    const input = new AdmissionInput(values)
    values.set('variables', new LazyVariables(variables, input, budget))
    return input
  }

  /** Throws BudgetExceeded, and what the host throws. */
  run(program: Program, budget: Budget): Value {
    const { value, cost } = program.evaluate((name) => this.#values.get(name))
    budget.spend(cost)
    return value
  }

  evaluate(program: Program, text: string, budget: Budget): { readonly value: Value } | { readonly error: string } {
    try {
      return { value: this.run(program, budget) }
    } catch (error) {
      if (!(error instanceof CelError) && !(error instanceof CostExceeded)) throw error
      return { error: `expression '${text}' resulted in error: ${error.message}` }
    }
  }
}

class LazyVariables extends CelObject {
  override readonly type = struct('kubernetes.variables')
  readonly #variables: ReadonlyMap<string, Program | Error>
  readonly #known = new Map<string, Value>()
  readonly #input: AdmissionInput
  readonly #budget: Budget

  constructor(variables: readonly CompiledVariable[], input: AdmissionInput, budget: Budget) {
    super()
    this.#variables = new Map(variables.map(({ name, program }) => [name, program]))
    this.#input = input
    this.#budget = budget
  }
  override equals(other: Value): boolean {
    return this === other
  }
  override field(name: string): Value | undefined {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const program = this.#variables.get(name)
    if (program === undefined) return undefined
    if (program instanceof Error) throw new CelError(`composited variable "${name}" fails to compile: ${program.message}`)
    try {
      const value = this.#input.run(program, this.#budget)
      this.#known.set(name, value)
      return value
    } catch (error) {
      if (error instanceof CelError) throw new CelError(`composited variable "${name}" fails to evaluate: ${error.message}`)
      throw error
    }
  }
}

export function admissionInput(values: AdmissionValues): AdmissionInput {
  const { object, oldObject, params, namespaceObject, request, ask, asked } = values
  return new AdmissionInput(
    new Map<string, Value>([
      ['object', valueOfJson(object)],
      ['oldObject', valueOfJson(oldObject)],
      ['params', valueOfJson(params)],
      ['namespaceObject', typedValue(namespaceObject, struct('kubernetes.Namespace'), lookUp)],
      ['request', typedValue(request, struct('kubernetes.AdmissionRequest'), lookUp)],
      ['authorizer', authorizerValue(ask)],
      ['authorizer.requestResource', resourceCheckValue(ask, asked)],
    ]),
  )
}
