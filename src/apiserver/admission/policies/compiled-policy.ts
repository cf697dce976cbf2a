/** A validating policy made ready to judge. */
import type { V1ValidatingAdmissionPolicySpec, V1Validation } from '#api/admissionregistration/v1/types.gen.ts'
import { type AdmissionUse, compileAdmission } from '#api/cel/admission.ts'
import { type AdmissionInput, Budget, BudgetExceeded, type CompiledVariable } from '#api/cel/admission-input.ts'
import type { Program } from '#api/cel/environment.ts'
import type { CelType } from '#api/cel/types/cel-type.ts'
import { typeNameOf, type Value } from '#api/cel/values/value.ts'

const validationBudget = 10_000_000
const conditionBudget = 2_500_000
const maxMessageBytes = 5 * 1024

export type Decision = { readonly message: string; readonly reason: string; readonly index: number }
export type Judgement = {
  readonly denials: readonly Decision[]
  readonly annotations: readonly { readonly key: string; readonly value: string }[]
}

type Compiled = { readonly text: string; readonly result: Program | Error }
type Evaluated = { readonly value: Value } | { readonly error: string }

export class CompiledPolicy {
  readonly #spec: V1ValidatingAdmissionPolicySpec
  readonly #variables: readonly CompiledVariable[]
  readonly #conditions: readonly Compiled[]
  readonly #validations: readonly Compiled[]
  readonly #messages: readonly (Compiled | undefined)[]
  readonly #annotations: readonly Compiled[]

  constructor(spec: V1ValidatingAdmissionPolicySpec) {
    this.#spec = spec
    const hasParams = spec.paramKind !== undefined
    const types = new Map<string, CelType>()
    const compile = (text: string, use: AdmissionUse, hasAuthorizer = true): Compiled => {
      const scope = { hasParams, hasAuthorizer, ...(use === 'matchCondition' ? {} : { variables: types }) }
      const result = compileAdmission(text, use, scope)
      return { text, result: 'program' in result ? result.program : new Error(result.detail) }
    }
    this.#variables = (spec.variables ?? []).map(({ name = '', expression = '' }) => {
      const { result } = compile(expression, 'variable')
      if (!(result instanceof Error)) types.set(name, result.type)
      return { name, program: result }
    })
    this.#conditions = (spec.matchConditions ?? []).map(({ expression = '' }) => compile(expression, 'matchCondition'))
    this.#validations = (spec.validations ?? []).map(({ expression }) => compile(expression, 'validation'))
    this.#messages = (spec.validations ?? []).map(({ messageExpression }) =>
      messageExpression ? compile(messageExpression, 'messageExpression', false) : undefined,
    )
    this.#annotations = (spec.auditAnnotations ?? []).map(({ valueExpression }) => compile(valueExpression, 'auditAnnotation'))
  }

  get #isIgnoring(): boolean {
    return this.#spec.failurePolicy === 'Ignore'
  }

  /** Throws `Pending` where an answer is still under way. */
  judge(input: AdmissionInput): Judgement {
    const matched = this.#matches(input)
    if (matched !== true) return { denials: matched === false ? [] : this.#onError(matched), annotations: [] }
    try {
      const budget = new Budget(validationBudget)
      const variables = input.withVariables(this.#variables, budget)
      const denials = this.#denials(variables, budget)
      return { denials: [...denials, ...this.#annotationErrors(variables)], annotations: this.#published(variables) }
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error
      return { denials: this.#onError(error.message), annotations: [] }
    }
  }

  #onError(message: string, index = 0): Decision[] {
    return this.#isIgnoring ? [] : [{ message, reason: '', index }]
  }

  /** A text when it cannot be told. */
  #matches(input: AdmissionInput): boolean | string {
    const budget = new Budget(conditionBudget)
    const errors: string[] = []
    for (const condition of this.#conditions) {
      const outcome = evaluated(condition, input, budget)
      if ('error' in outcome) errors.push(outcome.error)
      else if (outcome.value === false) return false
    }
    if (errors.length === 0) return true
    if (this.#isIgnoring) return false
    return errors.length === 1 ? (errors[0] as string) : `[${errors.join(', ')}]`
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

function evaluated({ text, result }: Compiled, input: AdmissionInput, budget: Budget): Evaluated {
  if (result instanceof Error) return { error: `compilation error: ${result.message}` }
  return input.evaluate(result, text, budget)
}
