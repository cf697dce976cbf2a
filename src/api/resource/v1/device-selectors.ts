/** Rules for the CEL expressions that pick devices. */
import { deviceCel } from '#api/cel/load.ts'
import type { Check } from '#api/meta/check.ts'
import { byteLength } from '#api/meta/names.ts'
import { boundedList } from '#api/resource/v1/bounded.ts'
import type { V1DeviceSelector } from '#api/resource/v1/types.gen.ts'
import type { Steps } from '#base/steps.ts'

export const maxSelectors = 32
const maxExpressionBytes = 10 * 1024

type SelectorError = { type: 'required' | 'invalid' | 'tooCostly' | 'internal'; detail: string }

function compileSelector(expression: string): SelectorError | undefined {
  const { compileDeviceSelector, maxSelectorCost } = deviceCel()
  const result = compileDeviceSelector(expression)
  if ('detail' in result) return { type: 'invalid', detail: result.detail }
  return result.maxCost > maxSelectorCost ? { type: 'tooCostly', detail: '' } : undefined
}

/** What came of selectors that were compiled ahead; kept as long as they are. */
const compiled = new WeakMap<V1DeviceSelector, { error: SelectorError | undefined }>()

/** A claim may have 3 MB of expressions: others are let in between two of them. To be run before the rules. */
export function* compileSelectors(selectors: Iterable<V1DeviceSelector>): Steps<void> {
  for (const selector of selectors) {
    const expression = selector?.cel?.expression
    if (expression === undefined || byteLength(expression) > maxExpressionBytes) continue
    yield
    compiled.set(selector, { error: compileSelector(expression) })
  }
}

/** `check` stands at the list. */
export function validateDeviceSelectors(check: Check<readonly V1DeviceSelector[] | undefined>): void {
  const selectors = check.value
  boundedList(check.with(selectors), maxSelectors, (at) => {
    const { cel } = at.value
    if (!cel) at.at('cel').required()
    else validateExpression(at.at('cel').at('expression').or(''), at.value)
  })
}

function validateExpression(check: Check<string>, selector: V1DeviceSelector): void {
  const expression = check.value
  if (byteLength(expression) > maxExpressionBytes) {
    check.tooLong(maxExpressionBytes)
    return
  }
  const { error } = compiled.get(selector) ?? { error: compileSelector(expression) }
  if (error?.type === 'required') check.required(error.detail)
  else if (error?.type === 'invalid') check.invalid(error.detail)
  else if (error?.type === 'tooCostly') check.forbidden('too complex, exceeds cost limit')
  else if (error) check.internal(error.detail)
}
