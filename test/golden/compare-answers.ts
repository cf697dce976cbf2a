/** Where two answers differ first. */
import { ExactNumber, isFields, type Json, sameNumber, sortKeyOf } from './exact-json.ts'
import type { Answer } from './scenario.ts'
import { lookUp } from './value-paths.ts'

export type Difference = { at: string; expected: Json; actual: Json }

export function firstDifference(expected: Json | undefined, actual: Json | undefined, at = '$'): Difference | undefined {
  if (expected === undefined || actual === undefined)
    return expected === actual ? undefined : { at, expected: expected ?? '<absent>', actual: actual ?? '<absent>' }
  if (isFields(expected) && isFields(actual)) {
    for (const key of [...new Set([...Object.keys(expected), ...Object.keys(actual)])].sort()) {
      // A column's description is free text: each server says it in its own words.
      if (key === 'description' && at.includes('.columnDefinitions[')) continue
      const found = firstDifference(expected[key], actual[key], `${at}.${key}`)
      if (found) return found
    }
    return undefined
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (const [index, item] of expected.slice(0, actual.length).entries()) {
      const found = firstDifference(item, actual[index], `${at}[${index}]`)
      if (found) return found
    }
    return expected.length === actual.length ? undefined : { at: `${at}.length`, expected: expected.length, actual: actual.length }
  }
  const isSame = isNumber(expected) && isNumber(actual) ? sameNumber(expected, actual) : expected === actual
  return isSame ? undefined : { at, expected, actual }
}

/** The answer with the causes of a Status, and the same sentences in its message, in a fixed order. */
export function withSortedCauses(answer: Answer): Answer {
  const { body } = answer
  if (!isFields(body) || body['kind'] !== 'Status' || !isFields(body['details'])) return answer
  const causes = lookUp(body, 'details.causes')
  if (!Array.isArray(causes) || causes.length === 0) return answer
  const sorted = [...causes].sort((one, other) => (sortKeyOf(one) < sortKeyOf(other) ? -1 : 1))
  const [head = '', rest] = String(body['message'] ?? '').split(/\[(.*)/s)
  const sentences = (rest ?? '').replace(/\]+$/, '').split(', ').sort()
  return { ...answer, body: { ...body, details: { ...body['details'], causes: sorted }, message: `${head}[${sentences.join(', ')}` } }
}

const isNumber = (value: Json): value is number | ExactNumber => typeof value === 'number' || value instanceof ExactNumber
