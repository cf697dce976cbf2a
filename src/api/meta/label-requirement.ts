/** One requirement of a label selector: validated, printed, and made ready to match. */
import { aggregateMessages, fieldErrorText } from './aggregate.ts'
import { Check } from './check.ts'
import { labelValue, qualifiedName } from './names.ts'

export type Labels = { readonly [key: string]: string }

export type LabelOperator = 'in' | 'notin' | '=' | '==' | '!=' | 'gt' | 'lt' | 'exists' | '!'

export type LabelRequirement = { key: string; operator: LabelOperator; values: readonly string[] }

/** What is wrong with a selector; the message is what clients see. */
export class SelectorError extends Error {
  override name = 'SelectorError'
}

export type Matcher = (labels: Labels) => boolean

/** Throws a SelectorError that lists everything that is wrong with the requirement. */
export function validRequirement(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
  const check = new Check({ key, values })
  const keyErrors = qualifiedName(key)
  if (keyErrors.length > 0) check.at('key').invalid(keyErrors.join('; '), key)
  const at = check.at('values')
  const wrong = wrongCount(operator, values.length)
  if (wrong !== undefined) at.invalid(wrong, values.length === 0 ? null : values)
  for (const [index, value] of values.entries()) {
    if ((operator === 'gt' || operator === 'lt') && asInt64(value) === undefined) {
      at.at(index).invalid("for 'Gt', 'Lt' operators, the value must be an integer", value)
    }
  }
  for (const [index, value] of values.entries()) {
    const errors = labelValue(value)
    if (errors.length > 0) at.at(index).key(key).invalid(errors.join('; '), value)
  }
  if (check.failed) throw new SelectorError(aggregateMessages(check.errors.map(fieldErrorText)))
  return { key, operator, values }
}

function wrongCount(operator: LabelOperator, count: number): string | undefined {
  switch (operator) {
    case 'in':
    case 'notin':
      return count === 0 ? "for 'in', 'notin' operators, values set can't be empty" : undefined
    case '=':
    case '==':
    case '!=':
      return count === 1 ? undefined : 'exact-match compatibility requires one single value'
    case 'gt':
    case 'lt':
      return count === 1 ? undefined : "for 'Gt', 'Lt' operators, exactly one value is required"
    default:
      return count === 0 ? undefined : 'values set must be empty for exists and does not exist'
  }
}

function asInt64(text: string): bigint | number | undefined {
  // Most are short, and compared with every object.
  if (/^[+-]?[0-9]{1,15}$/.test(text)) return Number(text)
  if (!/^[+-]?[0-9]{1,19}$/.test(text)) return undefined
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

const symbols: Record<LabelOperator, string> = {
  '=': '=',
  '==': '==',
  '!=': '!=',
  in: ' in ',
  notin: ' notin ',
  gt: '>',
  lt: '<',
  exists: '',
  '!': '',
}

export function requirementText({ key, operator, values }: LabelRequirement): string {
  const list = values.length > 1 ? values.toSorted().join(',') : (values[0] ?? '')
  if (operator === 'in' || operator === 'notin') return `${key}${symbols[operator]}(${list})`
  return `${operator === '!' ? '!' : ''}${key}${symbols[operator]}${list}`
}

// A label is there only if it is a text: plain objects inherit `constructor` and friends.
export function requirementMatcher({ key, operator, values }: LabelRequirement): Matcher {
  const [value = ''] = values
  switch (operator) {
    case '=':
    case '==':
      return (labels) => labels[key] === value
    case 'in': {
      const many = new Set(values)
      return many.size === 1 ? (labels) => labels[key] === value : (labels) => many.has(labels[key] as string)
    }
    case '!=':
      return (labels) => labels[key] !== value
    case 'notin': {
      const many = new Set(values)
      return (labels) => !many.has(labels[key] as string)
    }
    case 'exists':
      return (labels) => typeof labels[key] === 'string'
    case '!':
      return (labels) => typeof labels[key] !== 'string'
    default:
      return orderMatcher(key, operator, asInt64(value))
  }
}

function orderMatcher(key: string, operator: 'gt' | 'lt', limit: bigint | number | undefined): Matcher {
  return (labels) => {
    const label = labels[key]
    const number = typeof label === 'string' ? asInt64(label) : undefined
    if (number === undefined || limit === undefined) return false
    return operator === 'gt' ? number > limit : number < limit
  }
}
