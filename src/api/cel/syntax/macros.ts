/** Calls that stand for more than a call: they are written out while parsing, so that their arguments may bring new variables. */
import {
  accumulatorName,
  type Call,
  type Comprehension,
  type Expression,
  type Identifier,
  type ListLiteral,
  type LiteralValue,
  type MapLiteral,
  operators,
} from '#api/cel/syntax/expression.ts'

export type MacroError = { readonly error: string; readonly at: number }
type Expander = (at: number, target: Expression | undefined, args: readonly Expression[]) => Expression | MacroError | undefined

export type Macro = { readonly name: string; readonly argCount: number; readonly isMember: boolean; readonly expand: Expander }
export type Macros = ReadonlyMap<string, Macro>

export const macroKey = (name: string, argCount: number, isMember: boolean): string => `${name}:${argCount}:${isMember}`
export const macrosOf = (...lists: readonly (readonly Macro[])[]): Macros =>
  new Map(lists.flat().map((macro) => [macroKey(macro.name, macro.argCount, macro.isMember), macro]))

/** Everything a macro makes points at the call it was. */
const at = (place: number) => {
  const literal = (value: LiteralValue): Expression => ({ kind: 'literal', at: place, literal: value })
  return {
    bool: (value: boolean) => literal({ type: 'bool', value }),
    int: (value: bigint) => literal({ type: 'int', value }),
    identifier: (name: string): Identifier => ({ kind: 'identifier', at: place, name }),
    call: (name: string, ...args: Expression[]): Call => ({ kind: 'call', at: place, target: undefined, name, args }),
    member: (target: Expression, name: string): Call => ({ kind: 'call', at: place, target, name, args: [] }),
    list: (...elements: Expression[]): ListLiteral => ({ kind: 'list', at: place, elements, optionals: new Set() }),
    map: (): MapLiteral => ({ kind: 'map', at: place, entries: [] }),
    fold: (parts: Omit<Comprehension, 'kind' | 'at'>): Comprehension => ({ kind: 'comprehension', at: place, ...parts }),
  }
}
type Maker = ReturnType<typeof at>

const isAccumulator = (name: string): boolean => name === accumulatorName || name === '__result__'

type Variables = { first: string; second: string | undefined }

function variablesOf(args: readonly Expression[], count: 1 | 2, complaint: string): Variables | MacroError {
  const names: string[] = []
  for (const arg of args.slice(0, count)) {
    if (arg.kind !== 'identifier') return { error: complaint, at: arg.at }
    names.push(arg.name)
  }
  const [first = '', second] = names
  if (second === first) return { error: `duplicate variable name: ${first}`, at: args[1]?.at ?? 0 }
  for (const [index, name] of names.entries())
    if (isAccumulator(name)) return { error: 'iteration variable overwrites accumulator variable', at: args[index]?.at ?? 0 }
  return { first, second }
}

type Parts = Pick<Comprehension, 'init' | 'condition' | 'step' | 'result'>

/** `make` gets the arguments after the variables. */
function folding(
  name: string,
  variableCount: 1 | 2,
  restCount: number,
  make: (maker: Maker, rest: readonly Expression[], variables: Variables, first: Expression) => Parts,
  complaint = 'argument must be a simple name',
): Macro {
  return {
    name,
    argCount: variableCount + restCount,
    isMember: true,
    expand(place, target, args) {
      const variables = variablesOf(args, variableCount, complaint)
      if ('error' in variables) return variables
      const maker = at(place)
      const parts = make(maker, args.slice(variableCount), variables, args[0] as Expression)
      return maker.fold({
        range: target as Expression,
        variable: variables.first,
        variable2: variables.second,
        accumulator: accumulatorName,
        ...parts,
      })
    },
  }
}

const all = (maker: Maker, [predicate]: readonly Expression[]): Parts => ({
  init: maker.bool(true),
  condition: maker.call(operators.notStrictlyFalse, maker.identifier(accumulatorName)),
  step: maker.call(operators.and, maker.identifier(accumulatorName), predicate as Expression),
  result: maker.identifier(accumulatorName),
})

const exists = (maker: Maker, [predicate]: readonly Expression[]): Parts => ({
  init: maker.bool(false),
  condition: maker.call(operators.notStrictlyFalse, maker.call(operators.not, maker.identifier(accumulatorName))),
  step: maker.call(operators.or, maker.identifier(accumulatorName), predicate as Expression),
  result: maker.identifier(accumulatorName),
})

const existsOne = (maker: Maker, [predicate]: readonly Expression[]): Parts => ({
  init: maker.int(0n),
  condition: maker.bool(true),
  step: maker.call(
    operators.conditional,
    predicate as Expression,
    maker.call(operators.add, maker.identifier(accumulatorName), maker.int(1n)),
    maker.identifier(accumulatorName),
  ),
  result: maker.call(operators.equals, maker.identifier(accumulatorName), maker.int(1n)),
})

function collecting(maker: Maker, init: Expression, step: Expression, filter: Expression | undefined): Parts {
  const kept = filter === undefined ? step : maker.call(operators.conditional, filter, step, maker.identifier(accumulatorName))
  return { init, condition: maker.bool(true), step: kept, result: maker.identifier(accumulatorName) }
}

/** The last argument is what is collected, one before it says what is left out. */
const split = (rest: readonly Expression[]) => ({
  transform: rest[rest.length - 1] as Expression,
  filter: rest.length > 1 ? rest[0] : undefined,
})

const map = (maker: Maker, rest: readonly Expression[]): Parts => {
  const { transform, filter } = split(rest)
  const step = maker.call(operators.add, maker.identifier(accumulatorName), maker.list(transform))
  return collecting(maker, maker.list(), step, filter)
}

const filter = (maker: Maker, [predicate]: readonly Expression[], _: Variables, variable: Expression): Parts =>
  collecting(
    maker,
    maker.list(),
    maker.call(operators.add, maker.identifier(accumulatorName), maker.list(variable)),
    predicate as Expression,
  )

const has: Macro = {
  name: 'has',
  argCount: 1,
  isMember: false,
  expand(place, _, [arg]) {
    if (arg?.kind !== 'select') return { error: 'invalid argument to has() macro', at: arg?.at ?? place }
    return { kind: 'select', at: place, operand: arg.operand, field: arg.field, isTest: true }
  },
}

export const standardMacros: readonly Macro[] = [
  has,
  folding('all', 1, 1, all),
  folding('exists', 1, 1, exists),
  folding('exists_one', 1, 1, existsOne),
  folding('existsOne', 1, 1, existsOne),
  folding('map', 1, 1, map, 'argument is not an identifier'),
  folding('map', 1, 2, map, 'argument is not an identifier'),
  folding('filter', 1, 1, filter, 'argument is not an identifier'),
]

export const mapInsert = 'cel.@mapInsert'

const transformMap = (maker: Maker, rest: readonly Expression[], { first }: Variables): Parts => {
  const { transform, filter } = split(rest)
  const step = maker.call(mapInsert, maker.identifier(accumulatorName), maker.identifier(first), transform)
  return collecting(maker, maker.map(), step, filter)
}

const transformMapEntry = (maker: Maker, rest: readonly Expression[]): Parts => {
  const { transform, filter } = split(rest)
  return collecting(maker, maker.map(), maker.call(mapInsert, maker.identifier(accumulatorName), transform), filter)
}

export const twoVariableMacros: readonly Macro[] = [
  folding('all', 2, 1, all),
  folding('exists', 2, 1, exists),
  folding('existsOne', 2, 1, existsOne),
  folding('exists_one', 2, 1, existsOne),
  folding('transformList', 2, 1, map),
  folding('transformList', 2, 2, map),
  folding('transformMap', 2, 1, transformMap),
  folding('transformMap', 2, 2, transformMap),
  folding('transformMapEntry', 2, 1, transformMapEntry),
  folding('transformMapEntry', 2, 2, transformMapEntry),
]

/** A loop that never runs, whose accumulator is the variable. */
function bound(maker: Maker, variable: string, init: Expression, result: Expression): Comprehension {
  return maker.fold({
    range: maker.list(),
    variable: '#unused',
    variable2: undefined,
    accumulator: variable,
    init,
    condition: maker.bool(false),
    step: maker.identifier(variable),
    result,
  })
}

function optionalMacro(name: string, wrap: (maker: Maker, mapped: Expression) => Expression): Macro {
  return {
    name,
    argCount: 2,
    isMember: true,
    expand(place, target, [variable, mapped]) {
      if (variable?.kind !== 'identifier')
        return { error: `${name}() variable name must be a simple identifier`, at: variable?.at ?? place }
      const maker = at(place)
      const value = bound(maker, variable.name, maker.member(target as Expression, 'value'), mapped as Expression)
      return maker.call(
        operators.conditional,
        maker.member(target as Expression, 'hasValue'),
        wrap(maker, value),
        maker.call('optional.none'),
      )
    },
  }
}

export const optionalMacros: readonly Macro[] = [
  optionalMacro('optMap', (maker, mapped) => maker.call('optional.of', mapped)),
  optionalMacro('optFlatMap', (_, mapped) => mapped),
]

/** `cel.bind(name, value, expression)`. */
export const bindMacro: Macro = {
  name: 'bind',
  argCount: 3,
  isMember: true,
  expand(place, target, [variable, init, result]) {
    if (target?.kind !== 'identifier' || target.name !== 'cel') return undefined
    if (variable?.kind !== 'identifier') return { error: 'cel.bind() variable names must be simple identifiers', at: variable?.at ?? place }
    return bound(at(place), variable.name, init as Expression, result as Expression)
  },
}
