/** Where the CEL expressions of admission are judged. */
import type { Check } from '#api/meta/check.ts'

export type ExpressionUse =
  | 'matchCondition'
  | 'variable'
  | 'validation'
  | 'messageExpression'
  | 'auditAnnotation'
  | 'applyConfiguration'
  | 'jsonPatch'

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

/** What is wrong with the expression. It is taken for a text: every one passes. */
export function compileExpression(_expression: PolicyExpression): ExpressionError | undefined {
  return undefined
}

/** Reports what is wrong with the expression; `shown` stands in where upstream quotes another text. */
export function validateExpression(expression: PolicyExpression, check: Check, shown: string = expression.text): void {
  const error = compileExpression(expression)
  if (error === undefined) return
  if (error.type === 'required') check.required(error.detail)
  else if (error.type === 'invalid') check.invalid(shown, error.detail)
  else check.internal(error.detail)
}
