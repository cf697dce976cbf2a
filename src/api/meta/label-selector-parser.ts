/** Reads the text form of label selectors: requirements joined by commas. */
import { fieldErrorText } from './aggregate.ts'
import { Check } from './check.ts'
import { type LabelOperator, type LabelRequirement, SelectorError, validRequirement } from './label-requirement.ts'
import { qualifiedName } from './names.ts'

type Token = { type: 'end' | 'word' | 'keyword' | 'symbol'; text: string }

const end: Token = { type: 'end', text: '' }
const operatorOf: Record<string, LabelOperator> = { in: 'in', notin: 'notin', '=': '=', '==': '==', '!=': '!=', '>': 'gt', '<': 'lt' }
const token = /[ \t\r\n]*(?:(!=|==|[=!(),<>])|([^=!(),<> \t\r\n]+))/y

export function parseRequirements(text: string): LabelRequirement[] {
  return new Parser(text).requirements()
}

class Parser {
  readonly #text: string
  #position = 0
  #next: Token

  constructor(text: string) {
    this.#text = text
    this.#next = this.#scan()
  }

  #scan(): Token {
    token.lastIndex = this.#position
    const match = token.exec(this.#text)
    if (match === null) return end
    this.#position = token.lastIndex
    const [, symbol, word] = match
    if (symbol !== undefined) return { type: 'symbol', text: symbol }
    return { type: word === 'in' || word === 'notin' ? 'keyword' : 'word', text: word ?? '' }
  }

  #take(): Token {
    const taken = this.#next
    this.#next = this.#scan()
    return taken
  }

  requirements(): LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    while (this.#next.type !== 'end') {
      if (!startsRequirement(this.#next)) throw found(this.#next, ", expected: !, identifier, or 'end of string'")
      requirements.push(this.#requirement())
      const separator = this.#take()
      if (separator.type === 'end') break
      if (separator.text !== ',') throw found(separator, ", expected: ',' or 'end of string'")
      if (!startsRequirement(this.#next)) throw found(this.#next, ", expected: identifier after ','")
    }
    return requirements
  }

  #requirement(): LabelRequirement {
    try {
      const isNegated = this.#next.text === '!'
      if (isNegated) this.#take()
      const key = this.#key()
      if (isNegated) return validRequirement(key, '!', [])
      if (this.#next.type === 'end' || this.#next.text === ',') return validRequirement(key, 'exists', [])
      const operator = this.#operator()
      const values = operator === 'in' || operator === 'notin' ? this.#values() : [this.#exactValue()]
      return validRequirement(key, operator, [...new Set(values)].sort())
    } catch (error) {
      throw new SelectorError(`unable to parse requirement: ${(error as Error).message}`)
    }
  }

  #key(): string {
    const key = this.#take()
    if (!isIdentifier(key)) throw found(key, ', expected: identifier')
    const errors = qualifiedName(key.text)
    if (errors.length === 0) return key.text
    const check = new Check()
    check.invalid(errors.join('; '), key.text)
    throw new SelectorError(check.errors.map(fieldErrorText).join(''))
  }

  #operator(): LabelOperator {
    const operator = this.#take()
    const known = operator.type === 'word' ? undefined : operatorOf[operator.text]
    if (known === undefined) throw found(operator, ', expected: in, notin, =, ==, !=, gt, lt')
    return known
  }

  #exactValue(): string {
    if (this.#next.type === 'end' || this.#next.text === ',') return ''
    const value = this.#take()
    if (!isIdentifier(value)) throw found(value, ', expected: identifier')
    return value.text
  }

  /** Empty places count as the empty value: `(,a)`, `(a,)`, `()`. */
  #values(): string[] {
    const open = this.#take()
    if (open.text !== '(') throw found(open, " expected: '('")
    if (this.#next.text === ')') {
      this.#take()
      return ['']
    }
    if (!isIdentifier(this.#next) && this.#next.text !== ',') throw found(this.#next, ", expected: ',', ')' or identifier")
    const values: string[] = []
    for (;;) {
      const value = this.#take()
      if (isIdentifier(value)) {
        values.push(value.text)
        if (this.#next.text !== ',' && this.#next.text !== ')') throw found(this.#next, ", expected: ',' or ')'")
      } else if (value.text === ',') {
        if (values.length === 0 || this.#next.text === ',' || this.#next.text === ')') values.push('')
      } else throw found(value, ", expected: ',', or identifier")
      if (this.#next.text !== ')') continue
      this.#take()
      return values
    }
  }
}

// Where a value may stand, `in` and `notin` are words like any other.
const isIdentifier = ({ type }: Token): boolean => type === 'word' || type === 'keyword'
const startsRequirement = (next: Token): boolean => isIdentifier(next) || next.text === '!'

function found({ text }: Token, expected: string): SelectorError {
  return new SelectorError(`found '${text}'${expected}`)
}
