/** CEL's grammar as a graph of states. The parser does not need it: it is what messages about syntax errors are worked out from. */
import type { TokenType } from '#api/cel/syntax/lexer.ts'

export type State = {
  readonly id: number
  readonly rule: string
  readonly kind: 'basic' | 'block' | 'loop-entry' | 'loop-back' | 'stop'
  readonly moves: Move[]
}
/** Over a token, through a rule, or for nothing. */
export type Move = { readonly to: State; readonly tokens?: ReadonlySet<TokenType>; readonly rule?: string }

/** `state` is where the node begins; `back` where a loop turns. Loops and choices look ahead as far as it takes where `isDeep`. */
export type Node =
  | { readonly kind: 'tokens'; readonly tokens: ReadonlySet<TokenType>; state?: State; next?: State }
  | { readonly kind: 'rule'; readonly name: string; readonly precedence: number; state?: State; next?: State }
  | { readonly kind: 'sequence'; readonly parts: readonly Node[]; readonly precedence: number; state?: State }
  | { readonly kind: 'choice'; readonly options: readonly Node[]; state?: State }
  | { readonly kind: 'optional'; readonly body: Node; state?: State }
  | { readonly kind: 'star' | 'plus'; readonly body: Node; readonly isDeep: boolean; state?: State; back?: State; next?: State }

const tokens = (...types: TokenType[]): Node => ({ kind: 'tokens', tokens: new Set(types) })
const rule = (name: string, precedence = 0): Node => ({ kind: 'rule', name, precedence })
const sequence = (...parts: Node[]): Node => ({ kind: 'sequence', parts, precedence: 0 })
/** Only where nothing that binds tighter is under way. */
const binding = (precedence: number, ...parts: Node[]): Node => ({ kind: 'sequence', parts, precedence })
const choice = (...options: Node[]): Node => ({ kind: 'choice', options })
const optional = (body: Node): Node => ({ kind: 'optional', body })
const star = (body: Node, isDeep = false): Node => ({ kind: 'star', body, isDeep })
const plus = (body: Node, isDeep = false): Node => ({ kind: 'plus', body, isDeep })

const field = sequence(rule('optField'), tokens(':'), rule('expr'))
const entry = () => sequence(rule('optExpr'), tokens(':'), rule('expr'))

const rules: Readonly<Record<string, Node>> = {
  start: sequence(rule('expr'), tokens('<EOF>')),
  expr: sequence(rule('conditionalOr'), optional(sequence(tokens('?'), rule('conditionalOr'), tokens(':'), rule('expr')))),
  conditionalOr: sequence(rule('conditionalAnd'), star(sequence(tokens('||'), rule('conditionalAnd')))),
  conditionalAnd: sequence(rule('relation'), star(sequence(tokens('&&'), rule('relation')))),
  relation: sequence(rule('calc'), star(binding(1, tokens('<', '<=', '>=', '>', '==', '!=', 'in'), rule('relation', 2)), true)),
  calc: sequence(
    rule('unary'),
    star(choice(binding(2, tokens('*', '/', '%'), rule('calc', 3)), binding(1, tokens('+', '-'), rule('calc', 2))), true),
  ),
  unary: choice(rule('member'), sequence(plus(tokens('!')), rule('member')), sequence(plus(tokens('-'), true), rule('member'))),
  member: sequence(
    rule('primary'),
    star(
      choice(
        sequence(tokens('.'), optional(tokens('?')), rule('escapeIdent')),
        sequence(tokens('.'), tokens('IDENTIFIER'), tokens('('), optional(rule('exprList')), tokens(')')),
        sequence(tokens('['), optional(tokens('?')), rule('expr'), tokens(']')),
      ),
      true,
    ),
  ),
  primary: choice(
    sequence(optional(tokens('.')), tokens('IDENTIFIER')),
    sequence(optional(tokens('.')), tokens('IDENTIFIER'), tokens('('), optional(rule('exprList')), tokens(')')),
    sequence(tokens('('), rule('expr'), tokens(')')),
    sequence(tokens('['), optional(rule('listInit')), optional(tokens(',')), tokens(']')),
    sequence(tokens('{'), optional(rule('mapInitializerList')), optional(tokens(',')), tokens('}')),
    sequence(
      optional(tokens('.')),
      tokens('IDENTIFIER'),
      star(sequence(tokens('.'), tokens('IDENTIFIER'))),
      tokens('{'),
      optional(rule('fieldInitializerList')),
      optional(tokens(',')),
      tokens('}'),
    ),
    rule('literal'),
  ),
  exprList: sequence(rule('expr'), star(sequence(tokens(','), rule('expr')))),
  listInit: sequence(rule('optExpr'), star(sequence(tokens(','), rule('optExpr')), true)),
  fieldInitializerList: sequence(field, star(sequence(tokens(','), rule('optField'), tokens(':'), rule('expr')), true)),
  optField: sequence(optional(tokens('?')), rule('escapeIdent')),
  mapInitializerList: sequence(entry(), star(sequence(tokens(','), entry()), true)),
  escapeIdent: choice(tokens('IDENTIFIER'), tokens('ESC_IDENTIFIER')),
  optExpr: sequence(optional(tokens('?')), rule('expr')),
  literal: choice(
    sequence(optional(tokens('-')), tokens('NUM_INT')),
    tokens('NUM_UINT'),
    sequence(optional(tokens('-')), tokens('NUM_FLOAT')),
    tokens('STRING'),
    tokens('BYTES'),
    tokens('true'),
    tokens('false'),
    tokens('null'),
  ),
}

export class Grammar {
  readonly rules = rules
  readonly starts = new Map<string, State>()
  /** By rule, every place where it is gone on after it. */
  readonly follows = new Map<string, State[]>()
  #count = 0

  constructor() {
    for (const [name, node] of Object.entries(rules)) this.starts.set(name, this.#build(node, this.#state(name, 'stop'), name))
  }

  #state(name: string, kind: State['kind'], moves: Move[] = []): State {
    return { id: this.#count++, rule: name, kind, moves }
  }

  #build(node: Node, next: State, name: string): State {
    const state = this.#entry(node, next, name)
    node.state = state
    return state
  }

  #entry(node: Node, next: State, name: string): State {
    switch (node.kind) {
      case 'tokens':
        node.next = next
        return this.#state(name, 'basic', [{ to: next, tokens: node.tokens }])
      case 'rule':
        node.next = next
        this.follows.set(node.name, [...(this.follows.get(node.name) ?? []), next])
        return this.#state(name, 'basic', [{ to: next, rule: node.name }])
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.#build(part, after, name), next)
      case 'choice':
        return this.#state(
          name,
          'block',
          node.options.map((option) => ({ to: this.#build(option, next, name) })),
        )
      case 'optional':
        return this.#state(name, 'block', [{ to: this.#build(node.body, next, name) }, { to: next }])
      default: {
        const entry = this.#state(name, node.kind === 'star' ? 'loop-entry' : 'block')
        node.back = this.#state(name, 'loop-back')
        node.next = next
        entry.moves.push({ to: this.#build(node.body, node.back, name) })
        if (node.kind === 'star') entry.moves.push({ to: next })
        node.back.moves.push({ to: entry }, ...(node.kind === 'plus' ? [{ to: next }] : []))
        return entry
      }
    }
  }

  /** What may come in this state; `rule-end` when the rule may be over. */
  next(state: State): ReadonlySet<TokenType | 'rule-end'> {
    const found = new Set<TokenType | 'rule-end'>()
    const seen = new Set<State>()
    const visit = (at: State): void => {
      if (seen.has(at)) return
      seen.add(at)
      if (at.kind === 'stop') found.add('rule-end')
      for (const { to, tokens: types, rule: called } of at.moves) {
        if (types !== undefined) for (const type of types) found.add(type)
        else if (called !== undefined) for (const type of this.next(this.starts.get(called) as State)) found.add(type)
        else visit(to)
      }
    }
    visit(state)
    return found
  }
}

export const grammar = new Grammar()
