/** From text to tree. */
import { type Expression, type LiteralValue, type MapEntry, operators, type StructField } from '#api/cel/syntax/expression.ts'
import { type Token, type TokenType, tokensOf } from '#api/cel/syntax/lexer.ts'
import { type Macros, macroKey } from '#api/cel/syntax/macros.ts'
import { CelCompileError, type Issue } from '#api/cel/syntax/source.ts'
import { syntaxIssues } from '#api/cel/syntax/syntax-issues.ts'
import { UnescapeError, unescapedBytes, unescapedString } from '#api/cel/syntax/unescape.ts'

export type ParseOptions = {
  readonly macros: Macros
  /** `?.`, `[?]`, `{?key: value}`. */
  readonly hasOptionalSyntax: boolean
  /** Fields in backquotes. */
  readonly hasEscapedFields?: boolean
}

const maxDepth = 250
const maxCodePoints = 100_000

const reserved: ReadonlySet<string> = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(' '),
)

const relations: ReadonlySet<TokenType> = new Set<TokenType>(['<', '<=', '>=', '>', '==', '!=', 'in'])
const sums: ReadonlySet<TokenType> = new Set<TokenType>(['+', '-'])
const products: ReadonlySet<TokenType> = new Set<TokenType>(['*', '/', '%'])
const operatorNames: Partial<Record<TokenType, string>> = { in: '@in' }

/** Thrown inside only: the grammar does not go on here. */
class Stuck extends Error {}

/** Throws CelCompileError. */
export function parseExpression(text: string, options: ParseOptions): Expression {
  const size = [...text].length
  if (size > maxCodePoints) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${maxCodePoints}`
    throw new CelCompileError(text, [{ message, offset: undefined }])
  }
  const { tokens, issues } = tokensOf(text)
  const parser = new Parser(tokens, options)
  try {
    const expression = parser.parse()
    if (issues.length + parser.issues.length === 0) return expression
    throw new CelCompileError(text, [...issues, ...parser.issues])
  } catch (error) {
    if (!(error instanceof Stuck)) throw error
    if (error.message !== '') throw new CelCompileError(text, [...issues, { message: error.message, offset: undefined }])
    throw new CelCompileError(text, [...issues, ...syntaxIssues(tokens, text, parser.next)])
  }
}

class Parser {
  readonly issues: Issue[] = []
  readonly #tokens: readonly Token[]
  readonly #options: ParseOptions
  #index = 0
  #depth = 0

  constructor(tokens: readonly Token[], options: ParseOptions) {
    this.#tokens = tokens
    this.#options = options
  }

  parse(): Expression {
    const expression = this.#expression()
    this.#expect('<EOF>')
    return expression
  }

  /** Where it stands. */
  get next(): Token {
    return this.#tokens[Math.min(this.#index, this.#tokens.length - 1)] as Token
  }
  get #next(): Token {
    return this.#tokens[this.#index] as Token
  }
  #isNext(...types: TokenType[]): boolean {
    return types.includes(this.#next.type)
  }
  #peek(ahead: number): TokenType | undefined {
    return this.#tokens[this.#index + ahead]?.type
  }
  #take(): Token {
    return this.#tokens[this.#index++] as Token
  }
  #accept(type: TokenType): Token | undefined {
    return this.#next.type === type ? this.#take() : undefined
  }
  #expect(type: TokenType): Token {
    const token = this.#accept(type)
    if (token === undefined) throw new Stuck()
    return token
  }
  #complain(message: string, offset: number): Expression {
    this.issues.push({ message, offset })
    return { kind: 'literal', at: offset, literal: { type: 'null' } }
  }

  #expression(): Expression {
    if (++this.#depth > maxDepth) throw new Stuck(`expression recursion limit exceeded: ${maxDepth}`)
    const condition = this.#logical('||', operators.or, () => this.#logical('&&', operators.and, () => this.#relation()))
    const mark = this.#accept('?')
    let result = condition
    if (mark !== undefined) {
      const yes = this.#logical('||', operators.or, () => this.#logical('&&', operators.and, () => this.#relation()))
      this.#expect(':')
      result = this.#call(mark.at, operators.conditional, undefined, [condition, yes, this.#expression()])
    }
    this.#depth--
    return result
  }

  /** Long chains become balanced trees, which keeps them shallow. */
  #logical(type: '&&' | '||', name: string, operand: () => Expression): Expression {
    const terms = [operand()]
    const places: number[] = []
    for (let mark = this.#accept(type); mark !== undefined; mark = this.#accept(type)) {
      places.push(mark.at)
      terms.push(operand())
    }
    const tree = (low: number, high: number): Expression => {
      const middle = Math.floor((low + high + 1) / 2)
      const left = middle === low ? (terms[middle] as Expression) : tree(low, middle - 1)
      const right = middle === high ? (terms[middle + 1] as Expression) : tree(middle + 1, high)
      return this.#call(places[middle] as number, name, undefined, [left, right])
    }
    return places.length === 0 ? (terms[0] as Expression) : tree(0, places.length - 1)
  }

  #relation(): Expression {
    return this.#chain(relations, () => this.#chain(sums, () => this.#chain(products, () => this.#unary())))
  }

  #chain(types: ReadonlySet<TokenType>, operand: () => Expression): Expression {
    let left = operand()
    for (let length = 1; types.has(this.#next.type); length++) {
      this.#limitDepth(length)
      left = this.#binary(left, this.#take(), operand())
    }
    return left
  }

  /** A long chain is a deep tree. */
  #limitDepth(length: number): void {
    if (this.#depth + length > maxDepth) throw new Stuck('max recursion depth exceeded')
  }

  #binary(left: Expression, { type, at }: Token, right: Expression): Expression {
    return this.#call(at, operatorNames[type] ?? `_${type}_`, undefined, [left, right])
  }

  #unary(): Expression {
    const { type, at } = this.#next
    const isSigned = type === '-' && (this.#peek(1) === 'NUM_INT' || this.#peek(1) === 'NUM_FLOAT')
    if ((type !== '!' && type !== '-') || isSigned) return this.#member()
    let count = 0
    while (this.#accept(type)) count++
    const operand = this.#member()
    if (count % 2 === 0) return operand
    return this.#call(at, type === '!' ? operators.not : operators.negate, undefined, [operand])
  }

  #member(): Expression {
    let operand = this.#primary()
    for (let length = 0; ; length++) {
      this.#limitDepth(length)
      const dot = this.#accept('.')
      if (dot !== undefined) {
        operand = this.#selected(operand, dot)
        continue
      }
      const open = this.#accept('[')
      if (open === undefined) return operand
      const isOptional = this.#accept('?') !== undefined
      const index = this.#expression()
      this.#expect(']')
      if (isOptional && !this.#options.hasOptionalSyntax) this.#complain("unsupported syntax '[?'", open.at)
      operand = this.#call(open.at, isOptional ? operators.optionalIndex : operators.index, undefined, [operand, index])
    }
  }

  #selected(operand: Expression, dot: Token): Expression {
    const isOptional = this.#accept('?') !== undefined
    const field = this.#accept('IDENTIFIER') ?? this.#expect('ESC_IDENTIFIER')
    const open = isOptional || field.type === 'ESC_IDENTIFIER' ? undefined : this.#accept('(')
    if (open !== undefined) return this.#call(open.at, field.text, operand, this.#arguments())
    const name = this.#fieldName(field)
    if (!isOptional) return { kind: 'select', at: dot.at, operand, field: name, isTest: false }
    if (!this.#options.hasOptionalSyntax) return this.#complain("unsupported syntax '.?'", dot.at)
    const literal: Expression = { kind: 'literal', at: field.at, literal: { type: 'string', value: name } }
    return { kind: 'call', at: dot.at, target: undefined, name: operators.optionalSelect, args: [operand, literal] }
  }

  #fieldName({ type, text, at }: Token): string {
    if (type === 'IDENTIFIER') return text
    if (!this.#options.hasEscapedFields) this.#complain("unsupported syntax: '`'", at)
    return text.slice(1, -1)
  }

  #arguments(): Expression[] {
    const args: Expression[] = []
    if (this.#accept(')')) return args
    do args.push(this.#expression())
    while (this.#accept(','))
    this.#expect(')')
    return args
  }

  #primary(): Expression {
    const token = this.#next
    switch (token.type) {
      case '(': {
        this.#take()
        const inner = this.#expression()
        this.#expect(')')
        return inner
      }
      case '[':
        return this.#list()
      case '{':
        return this.#map()
      case '.':
      case 'IDENTIFIER':
        return this.#named()
      default:
        return { kind: 'literal', at: token.at, literal: this.#literal() }
    }
  }

  #named(): Expression {
    const start = this.#next
    const dot = this.#accept('.') === undefined ? '' : '.'
    if (this.#isStruct()) return this.#struct(dot)
    const { text, at } = this.#expect('IDENTIFIER')
    const open = this.#accept('(')
    const args = open === undefined ? undefined : this.#arguments()
    if (reserved.has(text)) return this.#complain(`reserved identifier: ${text}`, start.at)
    if (open === undefined || args === undefined) return { kind: 'identifier', at, name: dot + text }
    return this.#call(open.at, dot + text, undefined, args)
  }

  #isStruct(): boolean {
    for (let ahead = 0; this.#peek(ahead) === 'IDENTIFIER'; ahead += 2) {
      if (this.#peek(ahead + 1) === '{') return true
      if (this.#peek(ahead + 1) !== '.') return false
    }
    return false
  }

  #struct(dot: string): Expression {
    let name = dot + this.#take().text
    while (this.#accept('.')) name += `.${this.#take().text}`
    const { at } = this.#expect('{')
    const fields: StructField[] = []
    this.#entries(() => {
      const mark = this.#accept('?')
      const field = this.#accept('IDENTIFIER') ?? this.#expect('ESC_IDENTIFIER')
      const colon = this.#expect(':')
      if (mark !== undefined && !this.#options.hasOptionalSyntax) this.#complain("unsupported syntax '?'", mark.at)
      fields.push({ at: colon.at, name: this.#fieldName(field), value: this.#expression(), isOptional: mark !== undefined })
    })
    return { kind: 'struct', at, name, fields }
  }

  #map(): Expression {
    const { at } = this.#take()
    const entries: MapEntry[] = []
    this.#entries(() => {
      const mark = this.#accept('?')
      const key = this.#expression()
      const colon = this.#expect(':')
      if (mark !== undefined && !this.#options.hasOptionalSyntax) this.#complain("unsupported syntax '?'", mark.at)
      entries.push({ at: colon.at, key, value: this.#expression(), isOptional: mark !== undefined })
    })
    return { kind: 'map', at, entries }
  }

  /** Separated by commas, of which one may stand at the end. */
  #entries(entry: () => void): void {
    while (!this.#isNext('}', ',')) {
      entry()
      if (!this.#isNext(',') || this.#peek(1) === '}') break
      this.#take()
    }
    this.#accept(',')
    this.#expect('}')
  }

  #list(): Expression {
    const { at } = this.#take()
    const elements: Expression[] = []
    const optionals = new Set<number>()
    while (!this.#isNext(']', ',')) {
      const mark = this.#accept('?')
      if (mark !== undefined) {
        if (!this.#options.hasOptionalSyntax) this.#complain("unsupported syntax '?'", mark.at)
        optionals.add(elements.length)
      }
      elements.push(this.#expression())
      if (!this.#isNext(',') || this.#peek(1) === ']') break
      this.#take()
    }
    this.#accept(',')
    this.#expect(']')
    return { kind: 'list', at, elements, optionals }
  }

  #literal(): LiteralValue {
    const start = this.#next.at
    const sign = this.#accept('-') === undefined ? '' : '-'
    const { type, text } = this.#take()
    const bad = (message: string): LiteralValue => {
      this.issues.push({ message, offset: start })
      return { type: 'null' }
    }
    switch (type) {
      case 'NUM_INT': {
        const value = sign === '' ? BigInt(text) : -BigInt(text)
        return BigInt.asIntN(64, value) === value ? { type: 'int', value } : bad('invalid int literal')
      }
      case 'NUM_UINT': {
        const value = BigInt(text.slice(0, -1))
        return BigInt.asUintN(64, value) === value ? { type: 'uint', value } : bad('invalid uint literal')
      }
      case 'NUM_FLOAT': {
        const value = Number(sign + text)
        return Number.isFinite(value) ? { type: 'double', value } : bad('invalid double literal')
      }
      case 'STRING':
      case 'BYTES':
        try {
          if (type === 'STRING') return { type: 'string', value: unescapedString(text) }
          return { type: 'bytes', value: unescapedBytes(text.slice(1)) }
        } catch (error) {
          if (error instanceof UnescapeError) return bad(error.message)
          throw error
        }
      case 'true':
      case 'false':
        return { type: 'bool', value: type === 'true' }
      case 'null':
        return { type: 'null' }
      default:
        throw new Stuck()
    }
  }

  #call(at: number, name: string, target: Expression | undefined, args: readonly Expression[]): Expression {
    const macro = this.#options.macros.get(macroKey(name, args.length, target !== undefined))
    const expanded = macro?.expand(at, target, args)
    if (expanded === undefined) return { kind: 'call', at, target, name, args }
    return 'error' in expanded ? this.#complain(expanded.error, expanded.at) : expanded
  }
}
