/** What to say about an expression that is none, and how to read on after it: in the words of the tool upstream's parser is made with. */
import { grammar, type Node, type State } from '#api/cel/syntax/grammar.ts'
import { shownText, type Token, type TokenType, tokenTypes } from '#api/cel/syntax/lexer.ts'
import { predict } from '#api/cel/syntax/predict.ts'
import type { Issue } from '#api/cel/syntax/source.ts'

const recoveryLimit = 30
const reportLimit = 100
/** Whoever sends a long text that is no expression need not be told everything about it. */
const workLimit = 300_000

/** Thrown inside only: the rule cannot go on here. */
class Mismatch extends Error {
  readonly shown: string
  readonly offender: Token
  constructor(shown: string, offender: Token) {
    super()
    this.shown = shown
    this.offender = offender
  }
}
class GivenUp extends Error {}

/** `stuck` is where the parser did not get any further. */
export function syntaxIssues(tokens: readonly Token[], text: string, stuck: Token): Issue[] {
  const reader = new Reader(tokens, text)
  try {
    reader.call('start', 0, undefined)
  } catch (error) {
    // Deep texts end the stack.
    if (!(error instanceof GivenUp) && !(error instanceof RangeError)) throw error
  }
  if (reader.issues.length > 0) return reader.issues
  return [{ message: `Syntax error: mismatched input '${shownText(stuck.text)}'`, offset: stuck.at }]
}

class Reader {
  readonly issues: Issue[] = []
  readonly #tokens: readonly Token[]
  readonly #text: string
  /** Where the rules that are under way go on, the innermost last. */
  readonly #returns: (State | undefined)[] = []
  #index = 0
  #state: State = grammar.starts.get('start') as State
  #isRecovering = false
  #lastErrorIndex = -1
  #lastErrorStates = new Set<State>()
  #recoveries = 0
  #work = 0

  constructor(tokens: readonly Token[], text: string) {
    this.#tokens = tokens
    this.#text = text
  }

  get #current(): Token {
    return this.#ahead(0)
  }
  #ahead(count: number): Token {
    return this.#tokens[Math.min(this.#index + count, this.#tokens.length - 1)] as Token
  }
  #consume(): void {
    if (this.#index < this.#tokens.length - 1) this.#index++
  }

  call(name: string, precedence: number, next: State | undefined): void {
    this.#returns.push(next)
    try {
      this.#run(grammar.rules[name] as Node, precedence)
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      if (!this.#isRecovering) this.#report(error.shown, error.offender)
      this.#recover()
    } finally {
      this.#returns.pop()
    }
  }

  #run(node: Node, precedence: number): void {
    this.#state = node.state as State
    switch (node.kind) {
      case 'tokens':
        if (node.tokens.has(this.#current.type)) {
          this.#matched()
          this.#consume()
        } else this.#recoverInline(node.next as State)
        return
      case 'rule':
        this.call(node.name, node.precedence, node.next)
        return
      case 'sequence':
        for (const part of node.parts) this.#run(part, precedence)
        return
      case 'choice':
        this.#sync()
        this.#run(node.options[this.#chosen(node.options.map((option) => this.#open(option, precedence)))] as Node, precedence)
        return
      case 'optional':
        this.#sync()
        if (grammar.next(node.body.state as State).has(this.#current.type)) this.#run(node.body, precedence)
        return
      case 'star':
        this.#sync()
        while (this.#goesOn(node, precedence)) this.#turn(node, precedence)
        return
      default:
        this.#sync()
        do this.#turn(node, precedence)
        while (this.#goesOn(node, precedence))
    }
  }

  #turn({ body, back }: Node & { kind: 'star' | 'plus' }, precedence: number): void {
    this.#run(body, precedence)
    this.#state = back as State
    this.#sync()
  }

  #goesOn({ body, isDeep, next }: Node & { kind: 'star' | 'plus' }, precedence: number): boolean {
    if (!isDeep) return grammar.next(body.state as State).has(this.#current.type)
    const ways = (body.kind === 'choice' ? body.options : [body]).map((option) => this.#open(option, precedence))
    return this.#chosen([...ways, next]) < ways.length
  }

  /** Undefined for a way that is closed to what binds this tightly. */
  #open(node: Node, precedence: number): State | undefined {
    if (node.kind === 'sequence' && node.precedence > 0 && node.precedence < precedence) return undefined
    return node.state
  }

  #chosen(options: readonly (State | undefined)[]): number {
    const prediction = predict(grammar, options, (count) => this.#ahead(count).type, this.#spend)
    if ('option' in prediction) return prediction.option
    const offender = this.#ahead(prediction.stuckAt)
    const shown = `no viable alternative at input '${shownText(this.#between(prediction.stuckAt))}'`
    throw new Mismatch(
      shown.replace(/^no viable alternative at input '.(true|false|null)'$/, "mismatched input '$1' expecting IDENTIFIER"),
      offender,
    )
  }

  readonly #spend = (paths: number): void => {
    this.#work += paths
    if (this.#work > workLimit) throw new GivenUp()
  }

  /** The text up to the offender; what was no token is not in it. */
  #between(count: number): string {
    if (this.#current.type === '<EOF>') return '<EOF>'
    let shown = ''
    for (let ahead = 0; ahead <= count; ahead++) {
      const { type, text, at } = this.#ahead(ahead)
      if (type === '<EOF>') break
      const previous = ahead === 0 ? undefined : this.#ahead(ahead - 1)
      if (previous) shown += this.#text.slice(previous.at + previous.text.length, at).replace(/\S/g, '')
      shown += text
    }
    return shown
  }

  #matched(): void {
    this.#isRecovering = false
    this.#lastErrorIndex = -1
    this.#lastErrorStates.clear()
  }

  #report(message: string, { at }: Token): void {
    this.#isRecovering = true
    if (this.issues.length < reportLimit) this.issues.push({ message: `Syntax error: ${message}`, offset: at })
    else {
      this.issues.push({ message: `Syntax error: More than ${reportLimit} syntax errors`, offset: at })
      throw new GivenUp()
    }
  }

  #display({ text }: Token): string {
    return `'${shownText(text)}'`
  }

  /** What may come here, rules that would be over included. */
  #expected(state = this.#state): Set<TokenType> {
    const found = new Set<TokenType>()
    let next = grammar.next(state)
    for (let depth = this.#returns.length - 1; ; depth--) {
      for (const type of next) if (type !== 'rule-end') found.add(type)
      if (!next.has('rule-end')) return found
      const after = this.#returns[depth]
      if (after === undefined) return found.add('<EOF>')
      next = grammar.next(after)
    }
  }

  #expectedText(): string {
    const expected = this.#expected()
    const names = tokenTypes.filter((type) => expected.has(type)).map((type) => (/^(?:[A-Z]+_?|<EOF>)/.test(type) ? type : `'${type}'`))
    return names.length === 1 ? (names[0] as string) : `{${names.join(', ')}}`
  }

  #mismatch(): Mismatch {
    return new Mismatch(`mismatched input ${this.#display(this.#current)} expecting ${this.#expectedText()}`, this.#current)
  }

  #sync(): void {
    if (this.#isRecovering) return
    const next = grammar.next(this.#state)
    if (next.has('rule-end') || next.has(this.#current.type)) return
    if (this.#state.kind === 'loop-back') {
      this.#reportUnwanted()
      this.#consumeUntil(this.#expected().union(this.#recoverySet()))
    } else if (!this.#isOneTooMany()) throw this.#mismatch()
  }

  #reportUnwanted(): void {
    if (!this.#isRecovering)
      this.#report(`extraneous input ${this.#display(this.#current)} expecting ${this.#expectedText()}`, this.#current)
  }

  /** Drops a token when the one after it would do. */
  #isOneTooMany(): boolean {
    if (!this.#expected().has(this.#ahead(1).type)) return false
    this.#reportUnwanted()
    this.#consume()
    this.#matched()
    return true
  }

  #recoverInline(next: State): void {
    this.#attempt()
    if (this.#isOneTooMany()) {
      this.#consume()
      return
    }
    if (this.#expected(next).has(this.#current.type)) {
      if (!this.#isRecovering) this.#report(`missing ${this.#expectedText()} at ${this.#display(this.#current)}`, this.#current)
      return
    }
    throw this.#mismatch()
  }

  #attempt(): void {
    if (this.#recoveries++ < recoveryLimit) return
    this.#report(`error recovery attempt limit exceeded: ${recoveryLimit}`, this.#current)
    throw new GivenUp()
  }

  #recover(): void {
    this.#attempt()
    // Twice at the same place: without a step there would be no end.
    if (this.#lastErrorIndex === this.#index && this.#lastErrorStates.has(this.#state)) this.#consume()
    this.#lastErrorIndex = this.#index
    this.#lastErrorStates.add(this.#state)
    this.#consumeUntil(this.#recoverySet())
  }

  #recoverySet(): Set<TokenType> {
    const found = new Set<TokenType>()
    for (const state of this.#returns) {
      if (state !== undefined) for (const type of grammar.next(state)) if (type !== 'rule-end') found.add(type)
    }
    return found
  }

  #consumeUntil(types: ReadonlySet<TokenType>): void {
    while (this.#current.type !== '<EOF>' && !types.has(this.#current.type)) this.#consume()
  }
}
