/** A validating policy made ready to judge. */
import type { V1ValidatingAdmissionPolicySpec, V1Validation } from '#api/admissionregistration/v1/types.gen.ts'
import { type AdmissionInput, Budget, BudgetExceeded } from '#api/cel/admission-input.ts'
import { typeNameOf } from '#api/cel/values/value.ts'
import { type CompiledExpression, type Evaluated, evaluated, PolicyScope } from '#apiserver/admission/policies/policy-scope.ts'

const validationBudget = 10_000_000
const maxMessageBytes = 5 * 1024

export type Decision = { readonly message: string; readonly reason: string; readonly index: number }
export type Judgement = {
  readonly denials: readonly Decision[]
  readonly annotations: readonly { readonly key: string; readonly value: string }[]
}

export class CompiledPolicy {
  readonly #spec: V1ValidatingAdmissionPolicySpec
  readonly #scope: PolicyScope
  readonly #validations: readonly CompiledExpression[]
  readonly #messages: readonly (CompiledExpression | undefined)[]
  readonly #annotations: readonly CompiledExpression[]

  constructor(spec: V1ValidatingAdmissionPolicySpec) {
    const scope = new PolicyScope(spec)
    this.#spec = spec
    this.#scope = scope
    this.#validations = (spec.validations ?? []).map(({ expression }) => scope.compile(expression, 'validation'))
    this.#messages = (spec.validations ?? []).map(({ messageExpression }) =>
      messageExpression ? scope.compile(messageExpression, 'messageExpression', false) : undefined,
    )
    this.#annotations = (spec.auditAnnotations ?? []).map(({ valueExpression }) => scope.compile(valueExpression, 'auditAnnotation'))
  }

  /** Throws `Pending` where an answer is still under way. */
  judge(input: AdmissionInput): Judgement {
    const matched = this.#scope.matches(input)
    if (matched !== true) return { denials: matched === false ? [] : this.#onError(matched), annotations: [] }
    try {
      const budget = new Budget(validationBudget)
      const variables = this.#scope.withVariables(input, budget)
      const denials = this.#denials(variables, budget)
      return { denials: [...denials, ...this.#annotationErrors(variables)], annotations: this.#published(variables) }
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error
      return { denials: this.#onError(error.message), annotations: [] }
    }
  }

  #onError(message: string, index = 0): Decision[] {
    return this.#scope.isIgnoring ? [] : [{ message, reason: '', index }]
  }

  #denials(input: AdmissionInput, budget: Budget): Decision[] {
    const outcomes = this.#validations.map((validation) => evaluated(validation, input, budget))
    const denials: Decision[] = []
    for (const [index, outcome] of outcomes.entries()) {
      const validation = this.#spec.validations?.[index] as V1Validation
      if ('error' in outcome) denials.push(...this.#onError(outcome.error, index))
      else if (outcome.value !== true) {
        const message = this.#message(index, validation, input.withoutAuthorizer(), budget)
        denials.push({ message, reason: validation.reason ?? 'Invalid', index })
      }
    }
    return denials
  }

  #message(index: number, { message = '', expression }: V1Validation, input: AdmissionInput, budget: Budget): string {
    const own = this.#messages[index]
    const outcome = own && evaluated(own, input, budget)
    const text = outcome && 'value' in outcome && typeof outcome.value === 'string' ? outcome.value.trim() : ''
    const isUsable = text !== '' && Buffer.byteLength(text) <= maxMessageBytes && !text.includes('\n')
    return (isUsable ? text : message.trim()) || `failed expression: ${expression.trim()}`
  }

  #annotated(input: AdmissionInput): { key: string; text: string; outcome: Evaluated }[] {
    const budget = new Budget(validationBudget)
    return this.#annotations.map((annotation, index) => ({
      key: this.#spec.auditAnnotations?.[index]?.key ?? '',
      text: annotation.text,
      outcome: evaluated(annotation, input.withoutAuthorizer(), budget),
    }))
  }

  #annotationErrors(input: AdmissionInput): Decision[] {
    return this.#annotated(input).flatMap(({ text, outcome }) => {
      if ('error' in outcome) return this.#onError(outcome.error)
      if (outcome.value === null || typeof outcome.value === 'string') return []
      const rule = 'Return type must be either string or null.'
      const message = `valueExpression '${text}' resulted in unsupported return type: ${typeNameOf(outcome.value)}. ${rule}`
      return [{ message, reason: '', index: 0 }]
    })
  }

  #published(input: AdmissionInput): { key: string; value: string }[] {
    return this.#annotated(input).flatMap(({ key, outcome }) => {
      const value = 'value' in outcome && typeof outcome.value === 'string' ? outcome.value.trim() : ''
      return value === '' ? [] : [{ key, value }]
    })
  }
}
