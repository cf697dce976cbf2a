/** What can be told about a format text and its arguments before anything runs. */
import { type Checked, typeIn } from '#api/cel/check/checked.ts'
import { readFormat, type Verb, verbRules } from '#api/cel/library/string-format.ts'
import type { Call, Expression } from '#api/cel/syntax/expression.ts'
import type { Issue } from '#api/cel/syntax/source.ts'
import { type CelType, isDynOrError } from '#api/cel/types/cel-type.ts'
import { CelError } from '#api/cel/values/value.ts'

type Kind = CelType['kind']

const integers: readonly Kind[] = ['int', 'uint']
/** A text may be the name of a number that is none. */
const doubles: readonly Kind[] = ['double', 'string']
const hexable: readonly Kind[] = [...integers, 'string', 'bytes']
const printable: readonly Kind[] = [...hexable, 'list', 'map', 'double', 'bool', 'timestamp', 'duration', 'type', 'null']

const kindsFor: Readonly<Record<Verb, readonly Kind[]>> = {
  s: printable,
  d: integers,
  f: doubles,
  e: doubles,
  b: [...integers, 'bool'],
  x: hexable,
  X: hexable,
  o: integers,
}

export function checkFormats(checked: Checked): Issue[] {
  const issues: Issue[] = []
  for (const [call, { overloads }] of checked.calls) {
    if (!overloads.some(({ id }) => id === 'string_format')) continue
    const { target, args, at } = call as Call
    const [list] = args
    if (target?.kind !== 'literal' || target.literal.type !== 'string' || list?.kind !== 'list') continue
    const issue = formatIssue(checked, target.literal.value, list.elements, at)
    if (issue !== undefined) issues.push(issue)
  }
  return issues
}

function formatIssue(checked: Checked, format: string, args: readonly Expression[], offset: number): Issue | undefined {
  let place = offset
  try {
    const used = readFormat(format, args.length, {
      text: () => undefined,
      clause({ verb }, index) {
        const wrong = unfit(checked, verb, args[index])
        if (wrong === undefined) return
        place = wrong.at
        throw new CelError(`error during formatting: ${verbRules[verb]}, was given ${runtimeName(typeIn(checked, wrong))}`)
      },
    })
    if (args.length <= used) return undefined
    return { message: `too many arguments supplied to string.format (expected ${used}, got ${args.length})`, offset }
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    return { message: error.message, offset: place }
  }
}

/** The argument, or what is inside of it, that cannot be printed so. */
function unfit(checked: Checked, verb: Verb, argument: Expression | undefined): Expression | undefined {
  if (argument === undefined) return undefined
  const type = typeIn(checked, argument)
  const { kind } = type.kind === 'wrapper' ? type.of : type
  if (!isDynOrError(type) && !kindsFor[verb].includes(kind)) return argument
  if (verb !== 's') return undefined
  for (const inside of partsOf(argument)) {
    const wrong = unfit(checked, verb, inside)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

function partsOf(argument: Expression): readonly Expression[] {
  if (argument.kind === 'list') return argument.elements
  return argument.kind === 'map' ? argument.entries.flatMap(({ key, value }) => [key, value]) : []
}

function runtimeName(type: CelType): string {
  switch (type.kind) {
    case 'timestamp':
      return 'google.protobuf.Timestamp'
    case 'duration':
      return 'google.protobuf.Duration'
    case 'null':
      return 'null_type'
    case 'wrapper':
      return `wrapper(${runtimeName(type.of)})`
    case 'struct':
    case 'opaque':
    case 'parameter':
      return type.name
    default:
      return type.kind
  }
}
