/** From a checked tree to closures that run it. */
import type { Checked } from '#api/cel/check/checked.ts'
import { typeIn } from '#api/cel/check/checked.ts'
import { identifierCost, listCost, mapCost, structCost } from '#api/cel/cost/call-cost.ts'
import { isAttribute, readSlot } from '#api/cel/evaluate/attribute.ts'
import { compileCall } from '#api/cel/evaluate/compile-call.ts'
import { compileComprehension } from '#api/cel/evaluate/compile-comprehension.ts'
import { fieldOf, hasField } from '#api/cel/evaluate/fields.ts'
import type { Frame, Run } from '#api/cel/evaluate/frame.ts'
import type { Expression, Identifier, ListLiteral, LiteralValue, MapLiteral, Select, StructLiteral } from '#api/cel/syntax/expression.ts'
import type { TypeProvider } from '#api/cel/types/declarations.ts'
import { ArrayList, CelError, HashMap, noSuchOverload, Optional, TypeValue, Uint, type Value } from '#api/cel/values/value.ts'

export class Compiler {
  readonly checked: Checked
  readonly #types: TypeProvider
  readonly #isVariable: (name: string) => boolean
  /** Names of loop variables, the innermost last, each with its slot. */
  readonly #scope: { name: string; slot: number }[] = []
  readonly #runs = new Map<Expression, Run>()
  slotCount = 0

  constructor(checked: Checked, types: TypeProvider, isVariable: (name: string) => boolean) {
    this.checked = checked
    this.#types = types
    this.#isVariable = isVariable
  }

  /** What a macro put at two places is compiled once. */
  compile(expression: Expression): Run {
    return this.#runs.getOrInsertComputed(expression, () => this.#compiled(expression))
  }

  #compiled(expression: Expression): Run {
    switch (expression.kind) {
      case 'literal': {
        const value = literalValue(expression.literal)
        return () => value
      }
      case 'identifier':
        return this.#identifier(expression)
      case 'select':
        return this.#select(expression)
      case 'call':
        return compileCall(this, expression)
      case 'list':
        return this.#list(expression)
      case 'map':
        return this.#map(expression)
      case 'struct':
        return this.#struct(expression)
      default:
        return compileComprehension(this, expression)
    }
  }

  /** Compiles with a loop variable in sight. */
  within<T>(names: readonly string[], work: (slots: readonly number[]) => T): T {
    const slots = names.map((name) => {
      const slot = this.slotCount++
      this.#scope.push({ name, slot })
      return slot
    })
    const result = work(slots)
    this.#scope.length -= names.length
    return result
  }

  #identifier(expression: Identifier): Run {
    const name = this.checked.names.get(expression) ?? expression.name
    const local = this.#scope.findLast((each) => each.name === name)
    return local === undefined ? this.#variable(expression, name) : readSlot(local.slot)
  }

  #variable(expression: Expression, name: string): Run {
    const type = typeIn(this.checked, expression)
    if (!this.#isVariable(name) && type.kind === 'type' && type.of !== undefined) {
      const value = new TypeValue(type.of)
      return (frame) => {
        frame.charge(identifierCost)
        return value
      }
    }
    return (frame) => {
      frame.charge(identifierCost)
      const value = frame.variable(name)
      if (value === undefined) throw new CelError(`no such attribute(s): ${name}`)
      return value
    }
  }

  #select(expression: Select): Run {
    const name = this.checked.names.get(expression)
    if (name !== undefined) return this.#variable(expression, name)
    const { field, isTest } = expression
    const operand = this.compile(expression.operand)
    if (isTest) return (frame) => hasField(operand(frame), field)
    const cost = isAttribute(expression.operand) ? 1 : 2
    return (frame) => {
      const value = operand(frame)
      frame.charge(cost)
      if (!(value instanceof Optional)) return fieldOf(value, field)
      return value.value !== undefined && hasField(value.value, field) ? new Optional(fieldOf(value.value, field)) : Optional.none
    }
  }

  #list({ elements, optionals }: ListLiteral): Run {
    const runs = elements.map((element) => this.compile(element))
    if (elements.every(isConstant)) {
      const values = elements.map((element) => (element.kind === 'literal' ? literalValue(element.literal) : null))
      const list = new ArrayList(values)
      return () => list
    }
    return (frame) => {
      const values: Value[] = []
      for (let index = 0; index < runs.length; index++) {
        const value = (runs[index] as Run)(frame)
        if (optionals.has(index)) addOptional(value, (content) => values.push(content))
        else values.push(value)
      }
      frame.charge(listCost)
      return new ArrayList(values)
    }
  }

  #map({ entries }: MapLiteral): Run {
    const runs = entries.map(({ key, value, isOptional }) => ({ key: this.compile(key), value: this.compile(value), isOptional }))
    return (frame) => {
      const map = new HashMap()
      for (const { key, value, isOptional } of runs) {
        const name = key(frame)
        const insert = (content: Value) => {
          if (!map.insert(name, content)) throw new CelError('Failed with repeated key')
        }
        if (isOptional) addOptional(value(frame), insert)
        else insert(value(frame))
      }
      frame.charge(mapCost)
      return map
    }
  }

  #struct(expression: StructLiteral): Run {
    const name = this.checked.names.get(expression) ?? expression.name
    const runs = expression.fields.map((field) => ({ ...field, run: this.compile(field.value) }))
    const type = this.#types.struct(name)
    return (frame: Frame) => {
      const fields = new Map<string, Value>()
      for (const { name: field, run, isOptional } of runs) {
        if (isOptional) addOptional(run(frame), (content) => fields.set(field, content))
        else fields.set(field, run(frame))
      }
      frame.charge(structCost)
      if (type?.make === undefined) throw new CelError(`unknown type: ${name}`)
      return type.make(fields)
    }
  }
}

function addOptional(value: Value, add: (content: Value) => void): void {
  if (!(value instanceof Optional)) throw noSuchOverload()
  if (value.value !== undefined) add(value.value)
}

const isConstant = (expression: Expression): boolean => expression.kind === 'literal'

function literalValue(literal: LiteralValue): Value {
  if (literal.type === 'null') return null
  return literal.type === 'uint' ? new Uint(literal.value) : literal.value
}
