/** Rules for the CEL expressions that pick devices. */
import type { Check } from '#api/meta/check.ts'
import { byteLength } from '#api/meta/names.ts'
import { boundedList } from '#api/resource/v1/bounded.ts'
import type { V1DeviceSelector } from '#api/resource/v1/types.gen.ts'

const maxSelectors = 32
const maxExpressionBytes = 10 * 1024

export type SelectorError = { type: 'required' | 'invalid' | 'tooCostly' | 'internal'; detail: string }

/** What is wrong with the expression. It is taken for a text: every one passes. */
function compileDeviceSelector(_expression: string, _isStored: boolean): SelectorError | undefined {
  return undefined
}

/** An expression the stored object already has may use what new ones may not. `check` stands at the list. */
export function validateDeviceSelectors(selectors: readonly V1DeviceSelector[] | undefined, isStored: boolean, check: Check): void {
  boundedList(selectors, maxSelectors, check, ({ cel }, at) => {
    if (!cel) at.at('cel').required()
    else validateExpression(cel.expression ?? '', isStored, at.at('cel.expression'))
  })
}

function validateExpression(expression: string, isStored: boolean, check: Check): void {
  if (byteLength(expression) > maxExpressionBytes) {
    check.tooLong(maxExpressionBytes)
    return
  }
  const error = compileDeviceSelector(expression, isStored)
  if (error?.type === 'required') check.required(error.detail)
  else if (error?.type === 'invalid') check.invalid(expression, error.detail)
  else if (error?.type === 'tooCostly') check.forbidden('too complex, exceeds cost limit')
  else if (error) check.internal(error.detail)
}
