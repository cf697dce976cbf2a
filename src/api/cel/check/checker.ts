/** Finds the types of an expression's parts, and what does not fit. */

import type { CallReference, Checked } from '#api/cel/check/checked.ts'
import {
  type Call,
  type Comprehension,
  type Expression,
  type Identifier,
  type ListLiteral,
  type MapLiteral,
  operators,
  qualifiedName,
  type Select,
  type StructLiteral,
} from '#api/cel/syntax/expression.ts'
import { CelCompileError, type Issue } from '#api/cel/syntax/source.ts'
import { mostGeneral, Substitutions, TypeTooLarge } from '#api/cel/types/assignability.ts'
import {
  bool,
  type CelType,
  dyn,
  errorType,
  int,
  isDyn,
  isDynOrError,
  listOf,
  mapOf,
  optionalContent,
  optionalOf,
  parametersOf,
  sameType,
  typeOf,
  typeText,
} from '#api/cel/types/cel-type.ts'
import type { FunctionDeclaration, Overload, TypeProvider } from '#api/cel/types/declarations.ts'
import { append } from '#base/append.ts'

export type CheckOptions = {
  readonly variables: ReadonlyMap<string, CelType>
  readonly functions: ReadonlyMap<string, FunctionDeclaration>
  readonly types: TypeProvider
  /** Names are looked up in it first, then in what it is part of: `a.b` looks for `a.b.name`, `a.name`, `name`. */
  readonly container?: string
  /** Elements of a list or map literal must be of one type. */
  readonly isHomogeneous: boolean
}

/** More is not shown. */
const maxIssues = 100

/** Throws CelCompileError. */
export function checkExpression(text: string, expression: Expression, options: CheckOptions): Checked {
  const checker = new Checker(options, text.length)
  try {
    checker.check(expression)
    if (checker.issues.length > 0) throw new CelCompileError(text, checker.issues)
    return checker.checked(expression)
  } catch (error) {
    if (error instanceof TypeTooLarge) throw new CelCompileError(text, [{ message: error.message, offset: expression.at }])
    throw error
  }
}

class Checker {
  readonly issues: Issue[] = []
  readonly #options: CheckOptions
  readonly #types = new Map<object, CelType>()
  readonly #names = new Map<object, string>()
  readonly #calls = new Map<object, CallReference>()
  readonly #scopes: Map<string, CelType>[] = []
  readonly #found = new Map<object, readonly Issue[]>()
  /** Inside of what takes elements of different types. */
  #mayMix = false
  readonly #known: Substitutions
  #unknownCount = 0

  constructor(options: CheckOptions, textLength: number) {
    this.#options = options
    this.#known = new Substitutions([], textLength)
  }

  checked(expression: Expression): Checked {
    const types = new Map([...this.#types].map(([part, type]) => [part, this.#known.apply(type, true)]))
    return { expression, types, names: this.#names, calls: this.#calls }
  }

  check(expression: Expression): CelType {
    // A macro may put one part at two places; looking at it twice, and at what is in it twice each time, would take forever.
    const known = this.#types.get(expression)
    if (known !== undefined) {
      if (this.issues.length < maxIssues) append(this.issues, this.#found.get(expression) ?? [])
      return known
    }
    const before = this.issues.length
    const type = this.#typeOf(expression)
    this.#types.set(expression, type)
    if (this.issues.length > before) this.#found.set(expression, this.issues.slice(before))
    return type
  }

  #typeOf(expression: Expression): CelType {
    switch (expression.kind) {
      case 'literal':
        return { kind: expression.literal.type }
      case 'identifier':
        return this.#identifier(expression)
      case 'select':
        return this.#select(expression)
      case 'call':
        return this.#call(expression)
      case 'list':
        return this.#list(expression)
      case 'map':
        return this.#map(expression)
      case 'struct':
        return this.#struct(expression)
      default:
        return this.#comprehension(expression)
    }
  }

  #complain(message: string, offset: number): CelType {
    this.issues.push({ message, offset })
    return errorType
  }
  #undeclared(name: string, offset: number): CelType {
    return this.#complain(`undeclared reference to '${name}' (in container '${this.#options.container ?? ''}')`, offset)
  }
  #mismatch(wanted: CelType, found: CelType, offset: number): void {
    this.#complain(`expected type '${typeText(wanted)}' but found '${typeText(found)}'`, offset)
  }
  #fits(wanted: CelType, given: CelType): boolean {
    return this.#fitAll([wanted], [given])
  }
  #fitAll(wanted: readonly CelType[], given: readonly CelType[]): boolean {
    return this.#known.assign(wanted, given)
  }
  #unknown(): CelType {
    return { kind: 'parameter', name: `_var${this.#unknownCount++}` }
  }

  *#candidates(name: string): Iterable<string> {
    if (name.startsWith('.')) {
      yield name.slice(1)
      return
    }
    for (let { container = '' } = this.#options; container !== ''; container = container.slice(0, Math.max(0, container.lastIndexOf('.'))))
      yield `${container}.${name}`
    yield name
  }

  #lookUp(name: string): { name: string; type: CelType } | undefined {
    for (const candidate of this.#candidates(name)) {
      const local = this.#scopes.findLast((scope) => scope.has(candidate))?.get(candidate)
      const type = local ?? this.#options.variables.get(candidate)
      if (type !== undefined) return { name: candidate, type }
      const named = this.#options.types.typeNamed(candidate)
      if (named !== undefined) return { name: candidate, type: typeOf(named) }
    }
    return undefined
  }

  #function(name: string): FunctionDeclaration | undefined {
    for (const candidate of this.#candidates(name)) {
      const found = this.#options.functions.get(candidate)
      if (found !== undefined) return found
    }
    return undefined
  }

  #identifier(expression: Identifier): CelType {
    const found = this.#lookUp(expression.name)
    if (found === undefined) return this.#undeclared(expression.name, expression.at)
    this.#names.set(expression, found.name)
    return found.type
  }

  #select(expression: Select): CelType {
    const whole = qualifiedName(expression)
    const found = whole === undefined ? undefined : this.#lookUp(whole)
    if (found !== undefined) {
      this.#names.set(expression, found.name)
      return found.type
    }
    const type = this.#field(expression, expression.operand, expression.field, false)
    return expression.isTest ? bool : this.#known.apply(type, false)
  }

  #field(expression: Expression, operand: Expression, field: string, isOptional: boolean): CelType {
    const given = this.#known.apply(this.check(operand), false)
    const content = optionalContent(given)
    const target = content ?? given
    let type: CelType = dyn
    if (target.kind === 'map') type = target.value
    else if (target.kind === 'struct') type = this.#fieldOf(target.name, field, expression.at)
    else if (target.kind === 'parameter') this.#fits(dyn, target)
    else if (!isDynOrError(target)) this.#complain(`type '${typeText(target)}' does not support field selection`, expression.at)
    return content !== undefined || isOptional ? optionalOf(type) : type
  }

  #fieldOf(struct: string, field: string, offset: number): CelType {
    const declared = this.#options.types.struct(struct)
    if (declared === undefined) return this.#complain(`unexpected failed resolution of '${struct}'`, offset)
    return declared.field(field) ?? this.#complain(`undefined field '${field}'`, offset)
  }

  #call(call: Call): CelType {
    if (call.name === operators.optionalSelect) return this.#optionalSelect(call)
    const outer = this.#mayMix
    // Its arguments come in a list, whatever they are.
    this.#mayMix = outer || (call.name === 'format' && call.target !== undefined)
    for (const arg of call.args) this.check(arg)
    this.#mayMix = outer
    if (call.target === undefined) {
      const declared = this.#function(call.name)
      return declared === undefined ? this.#undeclared(call.name, call.at) : this.#resolve(call, declared, false)
    }
    const prefix = qualifiedName(call.target)
    const namespaced = prefix === undefined ? undefined : this.#function(`${prefix}.${call.name}`)
    if (namespaced !== undefined) return this.#resolve(call, namespaced, false)
    this.check(call.target)
    const declared = this.#function(call.name)
    return declared === undefined ? this.#undeclared(call.name, call.at) : this.#resolve(call, declared, true)
  }

  #optionalSelect(call: Call): CelType {
    const [operand, field] = call.args
    if (operand === undefined || field?.kind !== 'literal' || field.literal.type !== 'string')
      return this.#complain('unsupported optional field selection', call.at)
    return this.#known.apply(this.#field(call, operand, field.literal.value, true), false)
  }

  #resolve(call: Call, declaration: FunctionDeclaration, isMember: boolean): CelType {
    const parts = isMember && call.target !== undefined ? [call.target, ...call.args] : call.args
    const given = parts.map((part) => this.#types.get(part) as CelType)
    if (declaration.name === operators.and || declaration.name === operators.or) return this.#logical(call, declaration, given)
    const found: Overload[] = []
    let result: CelType | undefined
    for (const overload of declaration.overloads) {
      if (overload.isMember !== isMember) continue
      const [own, ...wanted] = this.#instantiated([overload.result, ...overload.parameters])
      if (!this.#fitAll(given, wanted)) continue
      found.push(overload)
      const type = this.#known.apply(own as CelType, false)
      if (result === undefined) result = type
      else if (!isDyn(result) && !sameType(result, type)) result = dyn
    }
    if (result === undefined) {
      const types = given.map((type) => typeText(this.#known.apply(type, true)))
      const signature = isMember ? `${types[0]}.(${types.slice(1).join(', ')})` : `(${types.join(', ')})`
      return this.#complain(`found no matching overload for '${declaration.name}' applied to '${signature}'`, call.at)
    }
    this.#calls.set(call, { declaration, overloads: found, isMember })
    return result
  }

  #logical(call: Call, declaration: FunctionDeclaration, given: readonly CelType[]): CelType {
    let isSound = true
    for (const [index, type] of given.entries()) {
      if (this.#fits(type, bool)) continue
      this.#mismatch(bool, type, call.args[index]?.at ?? call.at)
      isSound = false
    }
    if (!isSound) return errorType
    this.#calls.set(call, { declaration, overloads: declaration.overloads, isMember: false })
    return bool
  }

  /** Type parameters of a declaration mean something else in each call. */
  #instantiated(types: readonly CelType[]): CelType[] {
    const fresh = new Map<string, CelType>()
    const collect = (type: CelType): void => {
      if (type.kind === 'parameter' && !fresh.has(type.name)) fresh.set(type.name, this.#unknown())
      for (const each of parametersOf(type)) collect(each)
    }
    for (const type of types) collect(type)
    if (fresh.size === 0) return [...types]
    const substitutions = new Substitutions(fresh)
    return types.map((type) => substitutions.apply(type, false))
  }

  #list({ elements, optionals }: ListLiteral): CelType {
    let joined: CelType | undefined
    for (const [index, element] of elements.entries()) {
      const type = this.check(element)
      joined = this.#joined(element, joined, optionals.has(index) ? this.#unwrapped(element, type) : type)
    }
    return listOf(joined ?? this.#unknown())
  }

  #map({ entries }: MapLiteral): CelType {
    let key: CelType | undefined
    let value: CelType | undefined
    for (const entry of entries) {
      key = this.#joined(entry.key, key, this.check(entry.key))
      const type = this.check(entry.value)
      value = this.#joined(entry.value, value, entry.isOptional ? this.#unwrapped(entry.value, type) : type)
    }
    return mapOf(key ?? this.#unknown(), value ?? this.#unknown())
  }

  #unwrapped(expression: Expression, type: CelType): CelType {
    const content = optionalContent(type)
    if (content === undefined && !isDyn(type)) this.#mismatch(optionalOf(type), type, expression.at)
    return content ?? type
  }

  #joined(expression: Expression, previous: CelType | undefined, type: CelType): CelType {
    if (previous === undefined) return type
    if (this.#fits(previous, type)) return mostGeneral(previous, type)
    if (!this.#options.isHomogeneous) return dyn
    if (this.#mayMix) return dyn
    this.#mismatch(previous, type, expression.at)
    return errorType
  }

  #struct(expression: StructLiteral): CelType {
    const found = this.#lookUp(expression.name)
    if (found === undefined) return this.#undeclared(expression.name, expression.at)
    this.#names.set(expression, found.name)
    let result: CelType = errorType
    if (found.type.kind !== 'type') this.#complain(`'${typeText(found.type)}' is not a type`, expression.at)
    else if (found.type.of?.kind !== 'struct')
      this.#complain(`'${found.type.of === undefined ? 'type' : typeText(found.type.of)}' is not a message type`, expression.at)
    else result = found.type.of
    for (const field of expression.fields) {
      const given = this.check(field.value)
      const wanted = result.kind === 'struct' ? this.#fieldOf(result.name, field.name, field.at) : errorType
      const type = field.isOptional ? this.#unwrapped(field.value, given) : given
      if (this.#fits(wanted, type)) continue
      const types = `'${typeText(wanted)}' but provided type is '${typeText(type)}'`
      this.#complain(`expected type of field '${field.name}' is ${types}`, field.at)
    }
    return result
  }

  #comprehension(expression: Comprehension): CelType {
    const { range, variable, variable2, accumulator, init, condition, step, result } = expression
    const given = this.#known.apply(this.check(range), false)
    const total = this.check(init)
    const [first, second] = this.#iterated(given, range, variable2 !== undefined)
    this.#scopes.push(new Map([[accumulator, total]]))
    this.#scopes.push(new Map([[variable, first], ...(variable2 === undefined ? [] : [[variable2, second] as const])]))
    const test = this.check(condition)
    if (!this.#fits(bool, test)) this.#mismatch(bool, test, condition.at)
    const next = this.check(step)
    if (!this.#fits(total, next)) this.#mismatch(total, next, step.at)
    this.#scopes.pop()
    const type = this.check(result)
    this.#scopes.pop()
    return this.#known.apply(type, false)
  }

  #iterated(range: CelType, expression: Expression, hasTwo: boolean): [CelType, CelType] {
    if (range.kind === 'list') return hasTwo ? [int, range.element] : [range.element, dyn]
    if (range.kind === 'map') return [range.key, range.value]
    if (isDynOrError(range) || range.kind === 'parameter') {
      this.#fits(dyn, range)
      return [dyn, dyn]
    }
    const message = `expression of type '${typeText(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`
    this.#complain(message, expression.at)
    return [errorType, errorType]
  }
}
