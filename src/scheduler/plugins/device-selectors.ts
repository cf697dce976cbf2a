/** Whether a device is one of those that a class and a request ask for. */

import type { Program } from '#api/cel/environment.ts'
import { deviceCel } from '#api/cel/load.ts'
import type { Value } from '#api/cel/values/value.ts'
import type { V1Device, V1DeviceSelector } from '#api/resource/v1/types.gen.ts'
import { defined } from '#base/defined.ts'

/** `where` names the class or claim they stand in, for when one of them fails. */
export type Selectors = { readonly where: string; readonly selectors: readonly V1DeviceSelector[] }

const maxPrograms = 1000
/** Of one device: claims come and go. */
const maxAnswers = 100
const programs = new Map<string, Program | Error>()
/** Devices do not change, only come and go: what was found out about one holds. */
const known = new WeakMap<V1Device, { value: Value; answers: Map<string, boolean> }>()

/** Throws when a selector cannot be told to match or not: that is neither. */
export function matchesAll(lists: readonly Selectors[], driver: string, device: V1Device): boolean {
  return lists.every(({ where, selectors }) =>
    selectors.every(({ cel }, index) => matches(cel?.expression ?? '', driver, device, `${where}: selector #${index}`)),
  )
}

function matches(expression: string, driver: string, device: V1Device, place: string): boolean {
  const { deviceMatches, deviceValue } = deviceCel()
  const program = programOf(expression)
  if (program instanceof Error) throw new Error(`${place}: CEL compile error: ${program.message}`)
  let entry = known.get(device)
  if (entry === undefined) {
    const { attributes, capacity, allowMultipleAllocations } = device
    entry = {
      value: deviceValue({
        driver,
        ...defined({ attributes, capacity, allowMultipleAllocations }),
      }),
      answers: new Map(),
    }
    known.set(device, entry)
  }
  const { value, answers } = entry
  if (answers.size >= maxAnswers) answers.clear()
  try {
    return answers.getOrInsertComputed(expression, () => deviceMatches(program, value))
  } catch (error) {
    throw new Error(`${place}: CEL runtime error: ${(error as Error).message}`)
  }
}

function programOf(expression: string): Program | Error {
  const found = programs.get(expression)
  if (found !== undefined) return found
  const result = deviceCel().compileDeviceSelector(expression)
  const program = 'detail' in result ? new Error(result.detail) : result.program
  if (programs.size >= maxPrograms) programs.clear()
  programs.set(expression, program)
  return program
}
