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
  /** The types of the policy's variables that stand before this expression, and compile. */
  variables: ReadonlyMap<string, CelType>
}

/** Reports what is wrong with the expression, and tells its type where nothing is; `shown` stands in where upstream quotes another text. */
export function validateExpression(check: Check<PolicyExpression>, shown: string = check.value.text): CelType | undefined {
  const { use, text, hasParams, hasAuthorizer, variables } = check.value
  const scope = { hasParams, hasAuthorizer }
  const result = admissionCel().compileAdmission(text, use, use === 'matchCondition' ? scope : { ...scope, variables })
  if ('program' in result) return result.program.type
  check.invalid(result.detail, shown)
  return undefined
}
