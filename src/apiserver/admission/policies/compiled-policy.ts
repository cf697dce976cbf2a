/** A validating policy made ready to validate. */

import type { V1ValidatingAdmissionPolicySpec, V1Validation } from '#api/admissionregistration/v1/types.gen.ts'
import { type AdmissionInput, Budget, BudgetExceeded } from '#api/cel/admission-input.ts'
import { celBudgets } from '#api/cel/cost-budgets.ts'
import { typeNameOf } from '#api/cel/values/value.ts'
import { type CompiledExpression, evaluated, PolicyScope } from '#apiserver/admission/policies/policy-scope.ts'
import type { Clock } from '#base/clock.ts'
import type { Steps } from '#base/steps.ts'

const maxMessageBytes = 5 * 1024

export type Timed = { readonly message: string; readonly tookMs: number }
export type Decision = Timed & { readonly reason: string; readonly index: number }
export type Evaluation = {
  readonly denials: readonly Decision[]
  /** Failures that stop nobody, as the policy wants it. */
  readonly ignored: readonly Timed[]
  readonly annotations: readonly { readonly key: string; readonly value: string }[]
}

export class CompiledPolicy {
  readonly #spec: V1ValidatingAdmissionPolicySpec
  readonly #scope: PolicyScope
  readonly #validations: CompiledExpression[] = []
  readonly #messages: (CompiledExpression | undefined)[] = []
  readonly #annotations: CompiledExpression[] = []

  private constructor(spec: V1ValidatingAdmissionPolicySpec, scope: PolicyScope) {
    this.#spec = spec
    this.#scope = scope
  }

  static *compiling(spec: V1ValidatingAdmissionPolicySpec): Steps<CompiledPolicy> {
    const scope = yield* PolicyScope.compiling(spec)
    const policy = new CompiledPolicy(spec, scope)
    for (const { expression, messageExpression } of spec.validations ?? []) {
      policy.#validations.push(scope.compile(expression, 'validation'))
      policy.#messages.push(messageExpression ? scope.compile(messageExpression, 'messageExpression', false) : undefined)
      yield
    }
    for (const { valueExpression } of spec.auditAnnotations ?? []) {
      policy.#annotations.push(scope.compile(valueExpression, 'auditAnnotation'))
      yield
    }
    return policy
  }

  /** Throws `Pending` where an answer is still under way. */
  validate(input: AdmissionInput, clock: Clock): Evaluation {
    const result = new PolicyResult(this.#scope.isIgnoring)
    const startedMs = clock.monotonic()
    const matched = this.#scope.matches(input)
    if (typeof matched === 'string') result.fail(matched, clock.monotonic() - startedMs)
    if (matched !== true) return result
    const validated = new PolicyResult(this.#scope.isIgnoring)
    try {
      const budget = new Budget(celBudgets.perRequest)
      const variables = this.#scope.withVariables(input, budget)
      this.#validate(variables, budget, clock, validated)
      this.#annotate(variables, clock, validated)
      return validated
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error
      // What was found before does not count.
      result.fail(error.message, clock.monotonic() - startedMs)
      return result
    }
  }

  #validate(input: AdmissionInput, budget: Budget, clock: Clock, result: PolicyResult): void {
    const outcomes = this.#validations.map((validation) => timed(clock, () => evaluated(validation, input, budget)))
    for (const [index, { outcome, tookMs }] of outcomes.entries()) {
      const validation = this.#spec.validations?.[index] as V1Validation
      if ('error' in outcome) result.fail(outcome.error, tookMs, index)
      else if (outcome.value !== true) {
        const message = this.#message(index, validation, input.withoutAuthorizer(), budget)
        result.denials.push({ message, reason: validation.reason ?? 'Invalid', index, tookMs })
      }
    }
  }

  #message(index: number, { message = '', expression }: V1Validation, input: AdmissionInput, budget: Budget): string {
    const own = this.#messages[index]
    const outcome = own && evaluated(own, input, budget)
    const text = outcome && 'value' in outcome && typeof outcome.value === 'string' ? outcome.value.trim() : ''
    const isUsable = text !== '' && Buffer.byteLength(text) <= maxMessageBytes && !text.includes('\n')
    return (isUsable ? text : message.trim()) || `failed expression: ${expression.trim()}`
  }

  #annotate(input: AdmissionInput, clock: Clock, result: PolicyResult): void {
    const budget = new Budget(celBudgets.perRequest)
    for (const [index, annotation] of this.#annotations.entries()) {
      const key = this.#spec.auditAnnotations?.[index]?.key ?? ''
      const { outcome, tookMs } = timed(clock, () => evaluated(annotation, input.withoutAuthorizer(), budget))
      if ('error' in outcome) result.fail(outcome.error, tookMs)
      else if (typeof outcome.value === 'string') {
        const value = outcome.value.trim()
        if (value !== '') result.annotations.push({ key, value })
      } else if (outcome.value !== null) {
        const rule = 'Return type must be either string or null.'
        const type = typeNameOf(outcome.value)
        const message = `valueExpression '${annotation.text}' resulted in unsupported return type: ${type}. ${rule}`
        result.denials.push({ message, reason: '', index: 0, tookMs })
      }
    }
  }
}

class PolicyResult implements Evaluation {
  readonly denials: Decision[] = []
  readonly ignored: Timed[] = []
  readonly annotations: { key: string; value: string }[] = []
  readonly #isIgnoring: boolean

  constructor(isIgnoring: boolean) {
    this.#isIgnoring = isIgnoring
  }

  fail(message: string, tookMs: number, index = 0): void {
    if (this.#isIgnoring) this.ignored.push({ message, tookMs })
    else this.denials.push({ message, reason: '', index, tookMs })
  }
}

function timed<T>(clock: Clock, work: () => T): { readonly outcome: T; readonly tookMs: number } {
  const startedMs = clock.monotonic()
  const outcome = work()
  return { outcome, tookMs: clock.monotonic() - startedMs }
}
