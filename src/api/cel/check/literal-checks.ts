/** What can be told about literals before anything runs: durations, timestamps and patterns that are none. */
import type { Checked } from '#api/cel/check/checked.ts'
import { regexOf } from '#api/cel/library/regex.ts'
import { durationFrom, timestampFrom } from '#api/cel/standard/conversions.ts'
import type { Call, Expression } from '#api/cel/syntax/expression.ts'
import type { Issue } from '#api/cel/syntax/source.ts'

type LiteralCheck = {
  readonly overloads: ReadonlySet<string>
  readonly argument: number
  readonly name: string
  parse(text: string): unknown
}

const checks: readonly LiteralCheck[] = [
  { overloads: new Set(['string_to_duration']), argument: 0, name: 'duration', parse: durationFrom },
  { overloads: new Set(['string_to_timestamp']), argument: 0, name: 'timestamp', parse: timestampFrom },
  { overloads: new Set(['matches']), argument: 1, name: 'matches', parse: regexOf },
  { overloads: new Set(['matches_string']), argument: 0, name: 'matches', parse: regexOf },
]

export function checkLiterals(checked: Checked): Issue[] {
  const issues: Issue[] = []
  for (const [call, { overloads }] of checked.calls) {
    for (const { overloads: wanted, argument, name, parse } of checks) {
      if (!overloads.some(({ id }) => wanted.has(id))) continue
      const literal: Expression | undefined = (call as Call).args[argument]
      if (literal?.kind !== 'literal' || literal.literal.type !== 'string') continue
      try {
        parse(literal.literal.value)
      } catch {
        issues.push({ message: `invalid ${name} argument`, offset: literal.at })
      }
    }
  }
  return issues
}
