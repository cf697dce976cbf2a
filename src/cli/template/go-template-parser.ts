/** Go's templates as trees. */
import { templateFunctions } from './go-template-functions.ts'
import { TemplateError, type Token, templateTokens } from './go-template-lexer.ts'

export type Operand =
  | { is: 'constant'; value: unknown }
  | { is: 'dot' }
  | { is: 'nil' }
  | { is: 'variable'; name: string }
  | { is: 'function'; name: string }
  | { is: 'pipeline'; pipeline: Pipeline }
  | { is: 'chain'; of: Operand; fields: string[] }

export type Command = Operand[]
export type Pipeline = { commands: Command[]; declares: string[]; assigns: boolean }

export type TemplateNode =
  | { is: 'text'; text: string }
  | { is: 'action'; pipeline: Pipeline }
  | { is: 'if' | 'with' | 'range'; pipeline: Pipeline; body: TemplateNode[]; otherwise: TemplateNode[] }
  | { is: 'template'; name: string; pipeline?: Pipeline }
  | { is: 'break' | 'continue' }

export type ParsedTemplate = { root: TemplateNode[]; defined: Map<string, TemplateNode[]> }

/** Throws `TemplateError`. */
export function parseTemplate(source: string): ParsedTemplate {
  return new TemplateParser(templateTokens(source)).parse()
}

class TemplateParser {
  readonly #tokens: Token[]
  #at = 0
  /** How many ranges are open here. */
  #ranges = 0
  readonly #defined = new Map<string, TemplateNode[]>()

  constructor(tokens: Token[]) {
    this.#tokens = tokens
  }

  parse(): ParsedTemplate {
    const { nodes, end } = this.#list()
    if (end !== '') throw new TemplateError(`unexpected {{${end}}}`)
    return { root: nodes, defined: this.#defined }
  }

  /** Until `end` or `else`, which is eaten; `else` leaves what follows it. */
  #list(): { nodes: TemplateNode[]; end: '' | 'end' | 'else' } {
    const nodes: TemplateNode[] = []
    while (this.#at < this.#tokens.length) {
      const token = this.#tokens[this.#at++] as Token
      if (token.type === 'text') {
        nodes.push({ is: 'text', text: token.text })
        continue
      }
      const next = this.#tokens[this.#at]
      const word = next?.type === 'word' ? next.text : ''
      if (word === 'end') {
        this.#at++
        this.#close()
        return { nodes, end: 'end' }
      }
      if (word === 'else') {
        this.#at++
        return { nodes, end: 'else' }
      }
      const node = this.#action(word)
      if (node !== undefined) nodes.push(node)
    }
    return { nodes, end: '' }
  }

  #action(word: string): TemplateNode | undefined {
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        this.#at++
        return this.#block(word)
      case 'break':
      case 'continue':
        if (this.#ranges === 0) throw new TemplateError(`{{${word}}} outside {{range}}`)
        this.#at++
        this.#close()
        return { is: word }
      case 'template': {
        this.#at++
        const name = this.#name()
        if (this.#tokens[this.#at]?.type === 'close') {
          this.#close()
          return { is: 'template', name }
        }
        return { is: 'template', name, pipeline: this.#closed() }
      }
      case 'define':
      case 'block': {
        this.#at++
        const name = this.#name()
        const pipeline = word === 'block' ? this.#closed() : undefined
        if (word === 'define') this.#close()
        const { nodes, end } = this.#list()
        if (end !== 'end') throw new TemplateError(`unexpected EOF in ${word} clause`)
        this.#defined.set(name, nodes)
        return pipeline === undefined ? undefined : { is: 'template', name, pipeline }
      }
      default:
        return { is: 'action', pipeline: this.#closed() }
    }
  }

  #block(is: 'if' | 'with' | 'range'): TemplateNode {
    if (this.#tokens[this.#at]?.type === 'close') throw new TemplateError(`missing value for ${is}`)
    const pipeline = this.#closed()
    if (is === 'range') this.#ranges++
    const { nodes: body, end } = this.#list()
    if (is === 'range') this.#ranges--
    if (end === 'end') return { is, pipeline, body, otherwise: [] }
    if (end === '') throw new TemplateError('unexpected EOF')
    const next = this.#tokens[this.#at]
    if (next?.type === 'word' && (next.text === 'if' || next.text === 'with')) {
      this.#at++
      return { is, pipeline, body, otherwise: [this.#block(next.text)] }
    }
    this.#close()
    const { nodes: otherwise, end: last } = this.#list()
    if (last !== 'end') throw new TemplateError('unexpected EOF')
    return { is, pipeline, body, otherwise }
  }

  #name(): string {
    const token = this.#tokens[this.#at++]
    if (token?.type !== 'constant' || typeof token.value !== 'string') throw new TemplateError('unexpected token in template clause')
    return token.value
  }

  #close(): void {
    if (this.#tokens[this.#at++]?.type !== 'close') throw new TemplateError('unexpected token in end')
  }

  #closed(): Pipeline {
    const pipeline = this.#pipeline()
    this.#close()
    return pipeline
  }

  #pipeline(): Pipeline {
    const declares: string[] = []
    let assigns = false
    const start = this.#at
    // Variables come first, if any: `$x :=`, `$i, $x :=`, `$x =`.
    for (;;) {
      const token = this.#tokens[this.#at]
      if (token?.type !== 'variable') break
      const after = this.#tokens[this.#at + 1]
      const operator = after?.type === 'operator' ? after.text : ''
      if (operator === ',' || operator === ':=' || operator === '=') {
        declares.push(token.text)
        this.#at += 2
        if (operator === ',') continue
        assigns = operator === '='
        break
      }
      declares.length = 0
      this.#at = start
      break
    }
    const commands = [this.#command()]
    while (this.#isOperator('|')) {
      this.#at++
      commands.push(this.#command())
    }
    return { commands, declares, assigns }
  }

  #isOperator(text: string): boolean {
    const token = this.#tokens[this.#at]
    return token?.type === 'operator' && token.text === text
  }

  #command(): Command {
    const operands: Operand[] = []
    for (;;) {
      const token = this.#tokens[this.#at]
      if (token === undefined || token.type === 'close' || this.#isOperator('|') || this.#isOperator(')')) break
      operands.push(this.#operand())
    }
    if (operands.length === 0) throw new TemplateError('missing value for command')
    return operands
  }

  #operand(): Operand {
    const token = this.#tokens[this.#at++] as Token
    let operand: Operand
    if (token.type === 'constant') operand = { is: 'constant', value: token.value }
    else if (token.type === 'variable') operand = { is: 'variable', name: token.text }
    else if (token.type === 'field') operand = { is: 'chain', of: { is: 'dot' }, fields: [token.text] }
    else if (token.type === 'word') operand = wordOperand(token.text)
    else if (token.type === 'operator' && token.text === '.') operand = { is: 'dot' }
    else if (token.type === 'operator' && token.text === '(') {
      operand = { is: 'pipeline', pipeline: this.#pipeline() }
      if (!this.#isOperator(')')) throw new TemplateError('unclosed left paren')
      this.#at++
    } else throw new TemplateError('unexpected token in operand')
    for (let next = this.#tokens[this.#at]; next?.type === 'field' && !next.spaced; next = this.#tokens[this.#at]) {
      this.#at++
      if (operand.is === 'chain') operand.fields.push(next.text)
      else operand = { is: 'chain', of: operand, fields: [next.text] }
    }
    return operand
  }
}

function wordOperand(word: string): Operand {
  if (word !== 'true' && word !== 'false' && word !== 'nil' && word !== 'and' && word !== 'or' && templateFunctions[word] === undefined)
    throw new TemplateError(`function "${word}" not defined`)
  if (word === 'true' || word === 'false') return { is: 'constant', value: word === 'true' }
  return word === 'nil' ? { is: 'nil' } : { is: 'function', name: word }
}
