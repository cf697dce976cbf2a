/** Loops, which only macros make. */
import { identifierCost, listCost } from '#api/cel/cost/call-cost.ts'
import { readSlot } from '#api/cel/evaluate/attribute.ts'
import type { Compiler } from '#api/cel/evaluate/compile.ts'
import type { Frame, Run } from '#api/cel/evaluate/frame.ts'
import { entriesOf, insertAll } from '#api/cel/library/optionals.ts'
import { type Comprehension, type Expression, operators } from '#api/cel/syntax/expression.ts'
import { mapInsert } from '#api/cel/syntax/macros.ts'
import { ArrayList, CelError, CelList, CelMap, HashMap, noSuchOverload, type Value } from '#api/cel/values/value.ts'

type Parts = { range: Run; init: Run; condition: Run; step: Run; result: Run; total: number; first: number; second: number | undefined }

export function compileComprehension(compiler: Compiler, comprehension: Comprehension): Run {
  const { variable, variable2, accumulator } = comprehension
  const range = compiler.compile(comprehension.range)
  const init = initial(compiler, comprehension.init)
  return compiler.within([accumulator], ([total]) => {
    const result = compiler.compile(comprehension.result)
    if (isBinding(comprehension)) return bound(total as number, init, result)
    const names = variable2 === undefined ? [variable] : [variable, variable2]
    return compiler.within(names, ([first, second]) => {
      const condition = compiler.compile(comprehension.condition)
      const step = collectingStep(compiler, comprehension, total as number) ?? compiler.compile(comprehension.step)
      const parts = { range, init, condition, step, result, total: total as number, first: first as number, second }
      // Where nothing can absorb an error, the loop need not go on with one.
      return looping(parts, comprehension.condition.kind !== 'literal')
    })
  })
}

/** A loop over nothing whose accumulator is a variable. */
const isBinding = ({ range, condition }: Comprehension): boolean =>
  range.kind === 'list' &&
  range.elements.length === 0 &&
  condition.kind === 'literal' &&
  condition.literal.type === 'bool' &&
  !condition.literal.value

function bound(slot: number, init: Run, result: Run): Run {
  return (frame) => {
    frame.charge(listCost)
    try {
      frame.slots[slot] = init(frame)
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      frame.slots[slot] = error
    }
    return result(frame)
  }
}

/** An empty list or map that is this loop's own, to be added to in place. */
function initial(compiler: Compiler, init: Expression): Run {
  if (init.kind === 'list' && init.elements.length === 0) return () => new ArrayList([])
  if (init.kind === 'map' && init.entries.length === 0) return () => new HashMap()
  return compiler.compile(init)
}

function looping({ range, init, condition, step, result, total, first, second }: Parts, keepsErrors: boolean): Run {
  return (frame) => {
    const over = range(frame)
    frame.slots[total] = init(frame)
    for (const [one, other] of rounds(over, second !== undefined)) {
      frame.slots[first] = one
      if (second !== undefined) frame.slots[second] = other
      if (condition(frame) !== true) break
      try {
        frame.slots[total] = step(frame)
      } catch (error) {
        if (!keepsErrors || !(error instanceof CelError)) throw error
        frame.slots[total] = error
      }
    }
    return result(frame)
  }
}

function* rounds(over: Value, hasTwo: boolean): Iterable<readonly [Value, Value]> {
  if (over instanceof CelList) {
    let index = 0n
    for (const element of over) yield hasTwo ? [index++, element] : [element, null]
  } else if (over instanceof CelMap) {
    for (const key of over.keys()) yield [key, hasTwo ? (over.get(key) as Value) : null]
  } else throw noSuchOverload()
}

/** `result + [x]`, again and again, would copy the list each time: as nobody else has it, it is added to instead. */
function collectingStep(compiler: Compiler, { init, step, accumulator }: Comprehension, slot: number): Run | undefined {
  if ((init.kind !== 'list' && init.kind !== 'map') || step.kind !== 'call') return undefined
  if (step.name === operators.conditional) {
    const [condition, kept, other] = step.args
    if (condition === undefined || kept?.kind !== 'call' || other?.kind !== 'identifier' || other.name !== accumulator) return undefined
    const collect = collected(compiler, kept, accumulator, slot)
    if (collect === undefined) return undefined
    const test = compiler.compile(condition)
    const unchanged = readSlot(slot)
    return (frame) => {
      const decision = test(frame)
      if (typeof decision !== 'boolean') throw noSuchOverload()
      return (decision ? collect : unchanged)(frame)
    }
  }
  return collected(compiler, step, accumulator, slot)
}

function collected(compiler: Compiler, call: Expression & { kind: 'call' }, accumulator: string, slot: number): Run | undefined {
  const [total, ...rest] = call.args
  if (total?.kind !== 'identifier' || total.name !== accumulator) return undefined
  const [added, value] = rest
  if (call.name === operators.add && added?.kind === 'list' && added.elements.length === 1) {
    const run = compiler.compile(added.elements[0] as Expression)
    return (frame) => {
      frame.charge(identifierCost + listCost + 1)
      const list = frame.slots[slot] as ArrayList
      list.values.push(run(frame))
      return list
    }
  }
  if (call.name !== mapInsert || added === undefined) return undefined
  const first = compiler.compile(added)
  const second = value === undefined ? undefined : compiler.compile(value)
  return (frame: Frame) => {
    frame.charge(identifierCost + 1)
    const map = frame.slots[slot] as HashMap
    if (second !== undefined) insertAll(map, [[first(frame), second(frame)]])
    else {
      const more = first(frame)
      if (!(more instanceof CelMap)) throw noSuchOverload()
      insertAll(map, entriesOf(more))
    }
    return map
  }
}
