/** Calls: the few that decide themselves what runs, and all others. */
import { typeIn } from '#api/cel/check/checked.ts'
import { callCost, costBeforehand } from '#api/cel/cost/call-cost.ts'
import { isAttribute } from '#api/cel/evaluate/attribute.ts'
import type { Compiler } from '#api/cel/evaluate/compile.ts'
import { hasField, optionalElement } from '#api/cel/evaluate/fields.ts'
import type { Frame, Run } from '#api/cel/evaluate/frame.ts'
import { elementAt } from '#api/cel/standard/collections.ts'
import { type Call, type Expression, operators } from '#api/cel/syntax/expression.ts'
import { type CelType, parametersOf } from '#api/cel/types/cel-type.ts'
import type { Overload } from '#api/cel/types/declarations.ts'
import { CelError, CelMap, isOfType, noSuchOverload, Optional, type Value } from '#api/cel/values/value.ts'

type Special = (compiler: Compiler, call: Call, args: readonly Run[]) => Run

const special: Readonly<Record<string, Special>> = {
  [operators.and]: (_, __, [left, right]) => logical(left as Run, right as Run, false),
  [operators.or]: (_, __, [left, right]) => logical(left as Run, right as Run, true),
  [operators.conditional]:
    (_, __, [condition, yes, no]) =>
    (frame) => {
      const decision = (condition as Run)(frame)
      if (typeof decision !== 'boolean') throw noSuchOverload()
      return (decision ? (yes as Run) : (no as Run))(frame)
    },
  [operators.notStrictlyFalse]:
    (_, __, [value]) =>
    (frame) => {
      frame.charge(1)
      try {
        return (value as Run)(frame) !== false
      } catch (error) {
        if (error instanceof CelError) return true
        throw error
      }
    },
  [operators.index]: (_, call, [container, index]) => {
    const cost = isAttribute(call.args[0] as Expression) ? 1 : 2
    return (frame) => {
      const value = (container as Run)(frame)
      const key = (index as Run)(frame)
      frame.charge(cost)
      return value instanceof Optional ? optionalElement(value, key) : elementAt(value, key)
    }
  },
  [operators.optionalIndex]: (_, call, [container, index]) => {
    const cost = isAttribute(call.args[0] as Expression) ? 1 : 2
    return (frame) => {
      const value = (container as Run)(frame)
      const key = (index as Run)(frame)
      frame.charge(cost)
      return optionalElement(value, key)
    }
  },
  [operators.optionalSelect]:
    (_, __, [operand, field]) =>
    (frame) => {
      const value = (operand as Run)(frame)
      const name = (field as Run)(frame) as string
      frame.charge(1)
      return optionalField(value, name)
    },
}

function optionalField(value: Value, name: string): Optional {
  if (value instanceof Optional) return value.value === undefined ? value : optionalField(value.value, name)
  if (value instanceof CelMap) return new Optional(value.get(name))
  return hasField(value, name) ? optionalElement(value, name) : Optional.none
}

/** One side may decide alone, even when the other fails. */
function logical(left: Run, right: Run, decisive: boolean): Run {
  return (frame) => {
    let failure: CelError | undefined
    try {
      const value = left(frame)
      if (value === decisive) return decisive
      if (typeof value !== 'boolean') failure = noSuchOverload()
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      failure = error
    }
    const value = right(frame)
    if (value === decisive) return decisive
    if (failure !== undefined) throw failure
    if (typeof value !== 'boolean') throw noSuchOverload()
    return value
  }
}

/** `optional.or(other)`: the other is not asked when it is not needed. */
function alternative(first: Run, other: Run, unwraps: boolean): Run {
  return (frame) => {
    const value = first(frame)
    if (!(value instanceof Optional)) throw noSuchOverload()
    frame.charge(1)
    if (value.value !== undefined) return unwraps ? value.value : value
    return other(frame)
  }
}

export function compileCall(compiler: Compiler, call: Call): Run {
  const reference = compiler.checked.calls.get(call)
  const parts = reference?.isMember && call.target !== undefined ? [call.target, ...call.args] : call.args
  const args = parts.map((part) => compiler.compile(part))
  const own = special[call.name]
  if (own !== undefined) return own(compiler, call, args)
  if (reference === undefined) throw new Error(`the call of ${call.name} was not checked`)
  const { overloads, declaration } = reference
  const [only] = overloads
  if (only?.id === 'optional_or_optional' || only?.id === 'optional_orValue_value')
    return alternative(args[0] as Run, args[1] as Run, only.id === 'optional_orValue_value')
  const isSure = overloads.length === 1 && parts.every((part, index) => isCertain(typeIn(compiler.checked, part), only?.parameters[index]))
  return calling(declaration.name, isSure && only !== undefined ? () => only : (values) => chosen(overloads, values), args)
}

function calling(name: string, choose: (values: readonly Value[]) => Overload, args: readonly Run[]): Run {
  return (frame: Frame) => {
    const values: Value[] = new Array(args.length)
    for (let index = 0; index < args.length; index++) values[index] = (args[index] as Run)(frame)
    const overload = choose(values)
    // Comparing each with each may take far longer than there is budget for.
    const cost = costBeforehand(name, overload.id, values)
    if (cost !== undefined) frame.mustAfford(cost)
    const result = overload.call(...values)
    frame.charge(cost ?? callCost(name, overload.id, values, result))
    return result
  }
}

function chosen(overloads: readonly Overload[], values: readonly Value[]): Overload {
  for (const overload of overloads) {
    if (overload.parameters.every((type, index) => isOfType(values[index] as Value, type))) return overload
  }
  throw noSuchOverload()
}

/** Whether checking left no doubt that the value is what the overload wants. */
function isCertain(type: CelType, wanted: CelType | undefined): boolean {
  if (wanted === undefined) return false
  if (['dyn', 'any', 'parameter'].includes(wanted.kind)) return true
  return (
    type.kind === wanted.kind &&
    !['wrapper', 'struct', 'opaque'].includes(type.kind) &&
    parametersOf(type).every(({ kind }) => kind !== 'error')
  )
}
