/** Regular expressions as RE2 has them: no pattern takes more than linear time. */

import type { RE2JS } from 're2js'
import { int, listOf, string } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member } from '#api/cel/types/declarations.ts'
import { ArrayList, CelError } from '#api/cel/values/value.ts'
import { goMatches, goPattern } from '#api/meta/go-pattern.ts'
import { errorMessage } from '#base/error-message.ts'

export function regexOf(pattern: string): RE2JS {
  try {
    return goPattern(pattern)
  } catch (error) {
    throw new CelError(regexComplaint(pattern, error))
  }
}

export function isFound(pattern: string, text: string): boolean {
  regexOf(pattern)
  return goMatches(pattern, text)
}

/** Go's words: what is wrong, and with which part of the pattern. */
function regexComplaint(pattern: string, error: unknown): string {
  const message = errorMessage(error)
  return message.startsWith('error parsing regexp') ? message : `error parsing regexp: ${message || pattern}`
}

function findAll(text: string, pattern: string, limit: bigint): ArrayList {
  const matcher = regexOf(pattern).matcher(text)
  const found: string[] = []
  while ((limit < 0n || BigInt(found.length) < limit) && matcher.find()) found.push(matcher.group() ?? '')
  return new ArrayList(found)
}

const strings = listOf(string)

export const regexLibrary: readonly FunctionDeclaration[] = [
  declare(
    'find',
    member('string_find_string', [string, string], string, (text, pattern) => {
      const matcher = regexOf(pattern as string).matcher(text as string)
      return matcher.find() ? (matcher.group() ?? '') : ''
    }),
  ),
  declare(
    'findAll',
    member('string_find_all_string', [string, string], strings, (text, pattern) => findAll(text as string, pattern as string, -1n)),
    member('string_find_all_string_int', [string, string, int], strings, (text, pattern, limit) =>
      findAll(text as string, pattern as string, limit as bigint),
    ),
  ),
]
