/** A checked tree as cel-go prints it: every part with its type, and what it refers to. */
import { type Checked, typeIn } from '#api/cel/check/checked.ts'
import type { Expression, LiteralValue } from '#api/cel/syntax/expression.ts'
import { typeText } from '#api/cel/types/cel-type.ts'

export function debugText(checked: Checked): string {
  return new Printer(checked).print(checked.expression, 0)
}

class Printer {
  readonly #checked: Checked

  constructor(checked: Checked) {
    this.#checked = checked
  }

  print(expression: Expression, depth: number): string {
    return this.#body(expression, depth) + this.#adornment(expression)
  }

  #adornment(expression: Expression): string {
    const type = `~${typeText(typeIn(this.#checked, expression))}`
    const name = this.#checked.names.get(expression)
    if (name !== undefined) return `${type}^${name}`
    if (expression.kind !== 'call') return type
    if (expression.name === '_?._') return `${type}^select_optional_field`
    const ids = this.#checked.calls.get(expression)?.overloads.map(({ id }) => id) ?? []
    return `${type}^${ids.toSorted().join('|')}`
  }

  #body(expression: Expression, depth: number): string {
    const inner = (each: Expression) => `${'  '.repeat(depth + 1)}${this.print(each, depth + 1)}`
    const end = '  '.repeat(depth)
    const block = (open: string, lines: readonly string[], close: string) =>
      lines.length === 0 ? open + close : `${open}\n${lines.join(',\n')}\n${end}${close}`
    switch (expression.kind) {
      case 'literal':
        return literalText(expression.literal)
      case 'identifier':
        return this.#checked.names.get(expression) ?? expression.name
      case 'select': {
        const whole = this.#checked.names.get(expression)
        if (whole !== undefined) return whole
        return `${this.print(expression.operand, depth)}.${expression.field}${expression.isTest ? '~test-only~' : ''}`
      }
      case 'call': {
        const reference = this.#checked.calls.get(expression)
        const target = reference?.isMember && expression.target ? `${this.print(expression.target, depth)}.` : ''
        return block(`${target}${reference?.declaration.name ?? expression.name}(`, expression.args.map(inner), ')')
      }
      case 'list':
        return block(
          '[',
          expression.elements.map((each, index) => (expression.optionals.has(index) ? inner(each).replace(/^( *)/, '$1?') : inner(each))),
          ']',
        )
      case 'map': {
        const entry = (each: (typeof expression.entries)[number]) =>
          `${'  '.repeat(depth + 1)}${each.isOptional ? '?' : ''}${this.print(each.key, depth + 1)}:${this.print(each.value, depth + 1)}`
        return block('{', expression.entries.map(entry), '}')
      }
      case 'struct': {
        const field = (each: (typeof expression.fields)[number]) =>
          `${'  '.repeat(depth + 1)}${each.isOptional ? '?' : ''}${each.name}:${this.print(each.value, depth + 1)}`
        return block(`${expression.name}{`, expression.fields.map(field), '}')
      }
      default: {
        const { variable, variable2, range, accumulator, init, condition, step, result } = expression
        const pad = '  '.repeat(depth + 1)
        const names = variable2 === undefined ? `${pad}${variable}` : `${pad}${variable},\n${pad}${variable2}`
        const parts: [string, string][] = [
          ['Variable', names],
          ['Target', inner(range)],
          ['Accumulator', `${pad}${accumulator}`],
          ['Init', inner(init)],
          ['LoopCondition', inner(condition)],
          ['LoopStep', inner(step)],
          ['Result', inner(result)],
        ]
        return `__comprehension__(\n${parts.map(([title, text]) => `${pad}// ${title}\n${text}`).join(',\n')})`
      }
    }
  }
}

function literalText(literal: LiteralValue): string {
  switch (literal.type) {
    case 'null':
      return 'null'
    case 'uint':
      return `${literal.value}u`
    case 'string':
      return JSON.stringify(literal.value)
    case 'bytes':
      return `b${JSON.stringify(Buffer.from(literal.value).toString('latin1'))}`
    default:
      return String(literal.value)
  }
}
