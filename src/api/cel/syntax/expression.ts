/** The tree of an expression. Macros are already written out as what they stand for. */

export type Expression = Literal | Identifier | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension

/** `uint` values are told from `int` by the tag. */
export type LiteralValue =
  | { readonly type: 'null' }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'int' | 'uint'; readonly value: bigint }
  | { readonly type: 'double'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'bytes'; readonly value: Uint8Array }

/** Where messages about it point. */
type Placed = { readonly at: number }

export type Literal = Placed & { readonly kind: 'literal'; readonly literal: LiteralValue }
/** A name with a leading dot is looked up at the root alone. */
export type Identifier = Placed & { readonly kind: 'identifier'; readonly name: string }
/** `isTest` asks whether the field is there: `has(operand.field)`. */
export type Select = Placed & {
  readonly kind: 'select'
  readonly operand: Expression
  readonly field: string
  readonly isTest: boolean
}
/** Operators are functions with names such as `_+_`. */
export type Call = Placed & {
  readonly kind: 'call'
  readonly target: Expression | undefined
  readonly name: string
  readonly args: readonly Expression[]
}
export type ListLiteral = Placed & {
  readonly kind: 'list'
  readonly elements: readonly Expression[]
  /** Those written with a question mark: an empty optional leaves its place out. */
  readonly optionals: ReadonlySet<number>
}
export type MapEntry = Placed & { readonly key: Expression; readonly value: Expression; readonly isOptional: boolean }
export type MapLiteral = Placed & { readonly kind: 'map'; readonly entries: readonly MapEntry[] }
export type StructField = Placed & { readonly name: string; readonly value: Expression; readonly isOptional: boolean }
export type StructLiteral = Placed & { readonly kind: 'struct'; readonly name: string; readonly fields: readonly StructField[] }
export type Comprehension = Placed & {
  readonly kind: 'comprehension'
  readonly range: Expression
  readonly variable: string
  /** With two variables the first is the index or key, the second the value. */
  readonly variable2: string | undefined
  readonly accumulator: string
  readonly init: Expression
  readonly condition: Expression
  readonly step: Expression
  readonly result: Expression
}

export const operators = {
  conditional: '_?_:_',
  and: '_&&_',
  or: '_||_',
  not: '!_',
  negate: '-_',
  equals: '_==_',
  add: '_+_',
  index: '_[_]',
  optionalIndex: '_[?_]',
  optionalSelect: '_?._',
  notStrictlyFalse: '@not_strictly_false',
} as const

export const accumulatorName = '@result'

/** `a.b.c` when the expression is nothing but names. */
export function qualifiedName(expression: Expression): string | undefined {
  if (expression.kind === 'identifier') return expression.name
  if (expression.kind !== 'select' || expression.isTest) return undefined
  const operand = qualifiedName(expression.operand)
  return operand === undefined ? undefined : `${operand}.${expression.field}`
}
