/** What the expressions of one policy share: its variables, and the conditions under which it is asked at all. */
import type { V1MatchCondition, V1ParamKind, V1Variable } from '#api/admissionregistration/v1/types.gen.ts'
import { type AdmissionUse, compileAdmission } from '#api/cel/admission.ts'
import { type AdmissionInput, Budget, type CompiledVariable } from '#api/cel/admission-input.ts'
import type { Program } from '#api/cel/environment.ts'
import type { CelType } from '#api/cel/types/cel-type.ts'
import type { Value } from '#api/cel/values/value.ts'
import type { Steps } from '#base/steps.ts'

const conditionBudget = 2_500_000

export type ScopedSpec = {
  readonly paramKind?: V1ParamKind
  readonly variables?: readonly V1Variable[]
  readonly matchConditions?: readonly V1MatchCondition[]
  readonly failurePolicy?: string
}

export type CompiledExpression = { readonly text: string; readonly result: Program | Error }
export type Evaluated = { readonly value: Value } | { readonly error: string }

export class PolicyScope {
  readonly #spec: ScopedSpec
  readonly #types = new Map<string, CelType>()
  readonly #variables: CompiledVariable[] = []
  readonly #conditions: CompiledExpression[] = []

  private constructor(spec: ScopedSpec) {
    this.#spec = spec
  }

  static *compiling(spec: ScopedSpec): Steps<PolicyScope> {
    const scope = new PolicyScope(spec)
    for (const { name = '', expression = '' } of spec.variables ?? []) {
      const { result } = scope.compile(expression, 'variable')
      if (!(result instanceof Error)) scope.#types.set(name, result.type)
      scope.#variables.push({ name, program: result })
      yield
    }
    for (const { expression = '' } of spec.matchConditions ?? []) {
      scope.#conditions.push(scope.compile(expression, 'matchCondition'))
      yield
    }
    return scope
  }

  get isIgnoring(): boolean {
    return this.#spec.failurePolicy === 'Ignore'
  }

  compile(text: string, use: AdmissionUse, hasAuthorizer = true): CompiledExpression {
    const scope = { hasParams: this.#spec.paramKind !== undefined, hasAuthorizer }
    const result = compileAdmission(text, use, use === 'matchCondition' ? scope : { ...scope, variables: this.#types })
    return { text, result: 'program' in result ? result.program : new Error(result.detail) }
  }

  /** A text when it cannot be told. */
  matches(input: AdmissionInput): boolean | string {
    const budget = new Budget(conditionBudget)
    const errors: string[] = []
    for (const condition of this.#conditions) {
      const outcome = evaluated(condition, input, budget)
      if ('error' in outcome) errors.push(outcome.error)
      else if (outcome.value === false) return false
    }
    if (errors.length === 0) return true
    if (this.isIgnoring) return false
    return errors.length === 1 ? (errors[0] as string) : `[${errors.join(', ')}]`
  }

  withVariables(input: AdmissionInput, budget: Budget): AdmissionInput {
    return input.withVariables(this.#variables, budget)
  }
}

export function evaluated({ text, result }: CompiledExpression, input: AdmissionInput, budget: Budget): Evaluated {
  if (result instanceof Error) return { error: `compilation error: ${result.message}` }
  return input.evaluate(result, text, budget)
}
