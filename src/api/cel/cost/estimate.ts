/** What an expression costs at least and at most, before it has run on anything. */
import { type Checked, typeIn } from '#api/cel/check/checked.ts'
import { identifierCost, listCost, mapCost, patternFactor, structCost, textFactor } from '#api/cel/cost/call-cost.ts'
import { type CallEstimate, type CostNode, estimateCall, type SizeEstimator } from '#api/cel/cost/estimate-call.ts'
import { either, exactly, nothing, plus, type Range, scaled, times, total, unknown, unlimited } from '#api/cel/cost/range.ts'
import type { Call, Comprehension, Expression, Select } from '#api/cel/syntax/expression.ts'
import { type CelType, optionalContent } from '#api/cel/types/cel-type.ts'
import { codePointCount } from '#api/cel/values/size.ts'

export type { CostNode, SizeEstimator } from '#api/cel/cost/estimate-call.ts'

/** `sizes` knows about variables and their fields; what it does not know may be of any size. */
export function estimateCost(checked: Checked, sizes: SizeEstimator): Range {
  return new Estimation(checked, sizes).cost(checked.expression)
}

type EntrySizes = { readonly container: 'list' | 'map'; readonly key: Range; readonly value: Range }
type LocalVariable = {
  readonly path: readonly string[] | undefined
  readonly size: Range | undefined
  readonly entries: EntrySizes | undefined
}

const none: Range = { min: unlimited, max: 0 }

class Estimation {
  readonly #checked: Checked
  readonly #sizes: SizeEstimator
  readonly #costs = new Map<Expression, Range>()
  readonly #paths = new Map<Expression, readonly string[]>()
  readonly #known = new Map<Expression, Range>()
  readonly #entries = new Map<Expression, EntrySizes>()
  readonly #locals = new Map<string, LocalVariable[]>()

  constructor(checked: Checked, sizes: SizeEstimator) {
    this.#checked = checked
    this.#sizes = sizes
  }

  cost(expression: Expression): Range {
    return this.#costs.getOrInsertComputed(expression, () => this.#costOf(expression))
  }

  #costOf(expression: Expression): Range {
    switch (expression.kind) {
      case 'literal':
        return nothing
      case 'identifier':
        this.#setPath(expression, this.#local(expression.name)?.path ?? [expression.name])
        return exactly(identifierCost)
      case 'select':
        return this.#select(expression)
      case 'call':
        return this.#call(expression)
      case 'list': {
        const cost = total(expression.elements.map((element) => this.cost(element)))
        const value = expression.elements.reduce((sum, element) => either(sum, this.#sizeOf(element)), none)
        this.#entries.set(expression, {
          container: 'list',
          key: exactly(1),
          value: expression.elements.length === 0 ? nothing : value,
        })
        return plus(cost, exactly(listCost))
      }
      case 'map': {
        const { entries } = expression
        const cost = total(entries.map(({ key, value }) => plus(this.cost(key), this.cost(value))))
        const over = (parts: readonly Expression[]) =>
          parts.length === 0 ? nothing : parts.reduce((sum, part) => either(sum, this.#sizeOf(part)), none)
        const sizes = { key: over(entries.map(({ key }) => key)), value: over(entries.map(({ value }) => value)) }
        this.#entries.set(expression, { container: 'map', ...sizes })
        return plus(cost, exactly(mapCost))
      }
      case 'struct':
        return plus(total(expression.fields.map(({ value }) => this.cost(value))), exactly(structCost))
      default:
        return isBinding(expression) ? this.#binding(expression) : this.#loop(expression)
    }
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1)
  }
  #pathOf(expression: Expression): readonly string[] | undefined {
    const local = expression.kind === 'identifier' ? this.#local(expression.name) : undefined
    return local === undefined ? this.#paths.get(expression) : local.path
  }
  #setPath(expression: Expression, path: readonly string[] | undefined): void {
    if (path !== undefined) this.#paths.set(expression, path)
  }

  #select(expression: Select): Range {
    const { operand, field, isTest } = expression
    const cost = this.cost(operand)
    // Asking whether a field is there is free.
    if (isTest) return cost
    const path = this.#pathOf(operand)
    this.#setPath(expression, path && [...path, field])
    const { kind } = typeIn(this.#checked, operand)
    return kind === 'map' || kind === 'struct' || kind === 'parameter' ? plus(cost, exactly(identifierCost)) : cost
  }

  #call(expression: Call): Range {
    const [first] = expression.args
    if (expression.name === 'dyn' && first !== undefined) {
      const cost = plus(exactly(1), this.cost(first))
      this.#copySizes(expression, first)
      return cost
    }
    const reference = this.#checked.calls.get(expression)
    const argCosts = expression.args.map((arg) => this.cost(arg))
    if (reference === undefined) return nothing
    const target = reference.isMember ? expression.target : undefined
    const targetCost = target === undefined ? nothing : this.cost(target)
    const args = expression.args.map((arg) => this.#node(arg))
    let cost: Range = none
    let size: Range | undefined
    for (const { id } of reference.overloads) {
      const call = { name: reference.declaration.name, overload: id, target: target && this.#node(target), args }
      const estimate = this.#callEstimate(expression, call, argCosts)
      cost = either(cost, estimate.cost)
      if (estimate.resultSize !== undefined) size = size === undefined ? estimate.resultSize : either(size, estimate.resultSize)
      if (first !== undefined && (id === 'index_list' || id === 'index_map')) {
        size = this.#entriesOf(first)?.value
        const path = this.#pathOf(first)
        this.#setPath(expression, path && [...path, id === 'index_list' ? '@items' : '@values'])
      }
      size ??= this.#size(expression)
    }
    if (size !== undefined) this.#known.set(expression, size)
    return plus(targetCost, cost)
  }

  #callEstimate(
    expression: Call,
    call: { name: string; overload: string; target: CostNode | undefined; args: readonly CostNode[] },
    argCosts: readonly Range[],
  ): CallEstimate {
    const costs = total(argCosts)
    const estimate = estimateCall({ ...call, sizeOf: (node) => node.size ?? this.#sizes(node) ?? unknown })
    if (estimate !== undefined) return { ...estimate, cost: plus(estimate.cost, costs) }
    const own = this.#standard(expression, call, argCosts, costs)
    return own ?? { cost: plus(exactly(1), costs) }
  }

  #standard(
    expression: Call,
    { overload, target, args }: { overload: string; target: CostNode | undefined; args: readonly CostNode[] },
    argCosts: readonly Range[],
    costs: Range,
  ): CallEstimate | undefined {
    const size = (node: CostNode | undefined): Range => node?.size ?? unknown
    const [first, second, third] = args
    const [one = nothing, other = nothing, last = nothing] = argCosts
    switch (overload) {
      case 'string_format':
        return { cost: plus(scaled(size(target), textFactor), costs) }
      case 'string_to_bytes':
        return { cost: plus(scaled(size(first), textFactor), costs), resultSize: { min: size(first).min, max: size(first).max * 4 } }
      case 'bytes_to_string':
        return {
          cost: plus(scaled(size(first), textFactor), costs),
          resultSize: { min: Math.floor(size(first).min / 4), max: size(first).max },
        }
      case 'strings_quote':
        return {
          cost: plus(scaled(size(first), textFactor), costs),
          resultSize: { min: size(first).min + 2, max: size(first).max * 2 + 2 },
        }
      case 'starts_with_string':
      case 'ends_with_string':
        return { cost: plus(scaled(size(first), textFactor), costs) }
      case 'in_list':
        return { cost: plus(size(second), costs) }
      case 'matches_string': {
        const text = scaled(plus(size(target), exactly(1)), textFactor)
        return { cost: plus(times(text, scaled(size(first), patternFactor)), costs) }
      }
      case 'contains_string':
        return { cost: plus(times(scaled(size(target), textFactor), scaled(size(first), textFactor)), costs) }
      case 'logical_and':
      case 'logical_or':
        return { cost: { min: one.min, max: plus(one, other).max } }
      case 'conditional': {
        const entries = this.#joinedEntries(second?.expression, third?.expression)
        if (entries) this.#entries.set(expression, entries)
        return { cost: plus(one, either(other, last)), resultSize: either(size(second), size(third)) }
      }
      case 'add_string':
      case 'add_bytes':
      case 'add_list': {
        const sum = plus(size(first), size(second))
        const entries = this.#joinedEntries(first?.expression, second?.expression)
        if (entries) this.#entries.set(expression, entries)
        return { cost: plus(overload === 'add_list' ? exactly(1) : scaled(sum, textFactor), costs), resultSize: sum }
      }
    }
    if (!comparisons.has(overload)) return undefined
    const shorter = Math.min(size(first).max, size(second).max)
    return { cost: plus(scaled({ min: shorter > 0 ? 1 : 0, max: shorter }, textFactor), costs) }
  }

  #joinedEntries(one: Expression | undefined, other: Expression | undefined): EntrySizes | undefined {
    const first = one && this.#entriesOf(one)
    const second = other && this.#entriesOf(other)
    if (first === undefined || second === undefined) return undefined
    return { container: first.container, key: either(first.key, second.key), value: either(first.value, second.value) }
  }

  #loop(expression: Comprehension): Range {
    const { range, init, condition, step, result, accumulator, variable, variable2 } = expression
    const start = plus(this.cost(range), this.cost(init))
    this.#push(accumulator, { path: this.#pathOf(init), size: this.#size(init), entries: this.#entriesOf(init) })
    const entries = this.#entriesOf(range)
    const path = this.#pathOf(range)
    const isList = (entries?.container ?? typeIn(this.#checked, range).kind) === 'list'
    const at = (part: string, size: Range | undefined): LocalVariable => ({ path: path && [...path, part], size, entries: undefined })
    if (variable2 === undefined) this.#push(variable, isList ? at('@items', entries?.value) : at('@keys', entries?.key))
    else {
      this.#push(variable, at(isList ? '@indices' : '@keys', entries?.key))
      this.#push(variable2, at(isList ? '@items' : '@values', entries?.value))
    }
    const round = plus(this.cost(condition), this.cost(step))
    this.#pop(variable)
    if (variable2 !== undefined) this.#pop(variable2)
    const end = this.cost(result)
    this.#pop(accumulator)
    const count = this.#sizeOf(range)
    if (init.kind === 'literal') {
      const size = this.#size(init)
      if (size !== undefined) this.#known.set(expression, size)
    } else if (init.kind === 'list' || init.kind === 'map') {
      this.#known.set(expression, count)
      const collected = this.#entriesOf(step)
      if (collected !== undefined) this.#entries.set(expression, collected)
    }
    return plus(plus(start, end), times(count, round))
  }

  #binding(expression: Comprehension): Range {
    const { range, init, result, accumulator } = expression
    const start = plus(this.cost(range), this.cost(init))
    this.#push(accumulator, { path: this.#pathOf(init), size: this.#size(init), entries: this.#entriesOf(init) })
    const cost = plus(start, this.cost(result))
    this.#copySizes(expression, result)
    this.#pop(accumulator)
    return cost
  }

  #push(name: string, variable: LocalVariable): void {
    this.#locals.set(name, [...(this.#locals.get(name) ?? []), variable])
  }
  #pop(name: string): void {
    this.#locals.get(name)?.pop()
  }

  #copySizes(to: Expression, from: Expression): void {
    const size = this.#size(from)
    const entries = this.#entriesOf(from)
    if (size !== undefined) this.#known.set(to, size)
    if (entries !== undefined) this.#entries.set(to, entries)
  }

  #node(expression: Expression): CostNode {
    const path = this.#pathOf(expression)
    const isOwn = path?.[0] === '@result' || path?.[0] === '__result__'
    return { path: isOwn ? undefined : path, type: typeIn(this.#checked, expression), expression, size: this.#size(expression) }
  }

  #sizeOf(expression: Expression): Range {
    return this.#size(expression) ?? unknown
  }

  #size(expression: Expression): Range | undefined {
    const known = this.#known.get(expression) ?? literalSize(expression)
    if (known !== undefined) return known
    const type = typeIn(this.#checked, expression)
    const estimated = this.#sizes({ path: this.#pathOf(expression), type, expression, size: undefined })
    if (estimated !== undefined) {
      this.#known.set(expression, estimated)
      return estimated
    }
    if (isScalar(type)) return exactly(1)
    return expression.kind === 'identifier' ? this.#local(expression.name)?.size : undefined
  }

  #entriesOf(expression: Expression): EntrySizes | undefined {
    const known = this.#entries.get(expression)
    if (known !== undefined) return known
    return expression.kind === 'identifier' ? this.#local(expression.name)?.entries : undefined
  }
}

const comparisons: ReadonlySet<string> = new Set([
  ...['less', 'greater', 'less_equals', 'greater_equals'].flatMap((order) => [`${order}_string`, `${order}_bytes`]),
  'equals',
  'not_equals',
])

function isBinding({ range, condition, accumulator }: Comprehension): boolean {
  if (range.kind !== 'list' || range.elements.length > 0 || accumulator === '__result__') return false
  return condition.kind === 'literal' && condition.literal.type === 'bool' && !condition.literal.value
}

function literalSize(expression: Expression): Range | undefined {
  if (expression.kind === 'list') return exactly(expression.elements.length)
  if (expression.kind === 'map') return exactly(expression.entries.length)
  if (expression.kind !== 'literal') return undefined
  const { literal } = expression
  if (literal.type === 'string') return exactly(codePointCount(literal.value))
  return exactly(literal.type === 'bytes' ? literal.value.length : 1)
}

function isScalar(type: CelType): boolean {
  const content = optionalContent(type)
  return content === undefined ? ['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind) : isScalar(content)
}
