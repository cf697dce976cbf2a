/** Where the CEL expressions of admission are validated. */
import type { AdmissionUse } from '#api/cel/admission.ts'
import { admissionCel } from '#api/cel/load.ts'
import type { CelType } from '#api/cel/types/cel-type.ts'
import type { Check } from '#api/meta/check.ts'

export type ExpressionUse = AdmissionUse

export type PolicyExpression = {
  /** Decides which type the expression must have, and which types it may make. */
  use: ExpressionUse
  text: string
  hasParams: boolean
  hasAuthorizer: boolean
  /** An expression the stored object already has may use what newer ones may not. */
  isStored: boolean
  /** The policy's variables that stand before this expression, in order. */
  variables: readonly { name: string; expression: string }[]
}

export type ExpressionError = { type: 'required' | 'invalid' | 'internal'; detail: string }

/** What is wrong with the expression. */
function compileExpression({ use, text, hasParams, hasAuthorizer, variables }: PolicyExpression): ExpressionError | undefined {
  const { compileAdmission } = admissionCel()
  const scope = { hasParams, hasAuthorizer }
  const result = compileAdmission(text, use, use === 'matchCondition' ? scope : { ...scope, variables: typesOf(variables, scope) })
  return 'detail' in result ? { type: 'invalid', detail: result.detail } : undefined
}

/** Variables that do not compile are not there; what is wrong with them is said where they stand. */
function typesOf(
  variables: PolicyExpression['variables'],
  scope: { hasParams: boolean; hasAuthorizer: boolean },
): ReadonlyMap<string, CelType> {
  const { compileAdmission } = admissionCel()
  const types = new Map<string, CelType>()
  for (const { name, expression } of variables) {
    const result = compileAdmission(expression, 'variable', { ...scope, hasAuthorizer: true, variables: types })
    if ('program' in result) types.set(name, result.program.type)
  }
  return types
}

/** Reports what is wrong with the expression; `shown` stands in where upstream quotes another text. */
export function validateExpression(check: Check<PolicyExpression>, shown: string = check.value.text): void {
  const expression = check.value
  const error = compileExpression(expression)
  if (error === undefined) return
  if (error.type === 'required') check.required(error.detail)
  else if (error.type === 'invalid') check.invalid(error.detail, shown)
  else check.internal(error.detail)
}
