/** The rules of a schema (`x-kubernetes-validations`), compiled for the place they stand at. */
import type { V1ValidationRule } from '#api/apiextensions/v1/types.gen.ts'
import { estimateCost, type SizeEstimator } from '#api/cel/cost/estimate.ts'
import { Environment, type Program } from '#api/cel/environment.ts'
import { kubernetesLibraries } from '#api/cel/libraries.ts'
import { type SchemaType, typeAt } from '#api/cel/schema/schema-type.ts'
import { CelCompileError } from '#api/cel/syntax/source.ts'
import { type CelType, optionalOf } from '#api/cel/types/cel-type.ts'

export type CompiledRule = {
  readonly program?: Program
  readonly maxCost: number
  readonly usesOldSelf: boolean
  readonly error?: string
  readonly message?: Program
  readonly messageMaxCost: number
  readonly messageError?: string
}

export function compileRule(rule: V1ValidationRule, self: SchemaType): CompiledRule {
  const environment = environmentFor(self, rule.optionalOldSelf === true)
  const sizes: SizeEstimator = ({ path }) => {
    if (path === undefined || path.length === 0) return undefined
    const type = typeAt(self, path.slice(1))
    return type && { min: 0, max: type.maxElements }
  }
  const failed = (error: string): CompiledRule => ({ maxCost: 0, usesOldSelf: false, messageMaxCost: 0, error })
  let program: Program
  try {
    program = environment.compile(rule.rule ?? '')
  } catch (error) {
    if (error instanceof CelCompileError) return failed(`compilation failed: ${error.message}`)
    throw error
  }
  if (program.type.kind !== 'bool') return failed('cel expression must evaluate to a bool')
  const maxCost = estimateCost(program.checked, sizes).max
  const usesOldSelf = [...program.checked.names.values()].includes('oldSelf')
  const compiled = { program, maxCost, usesOldSelf, messageMaxCost: 0 }
  return rule.messageExpression ? { ...compiled, ...compiledMessage(rule.messageExpression, environment, sizes) } : compiled
}

type Environments = { whole?: Environment; optional?: Environment }
const environments = new WeakMap<SchemaType, Environments>()

/** One for all rules at a place: it holds every type that is below. */
function environmentFor(self: SchemaType, hasOptionalOldSelf: boolean): Environment {
  const known = environments.get(self) ?? {}
  environments.set(self, known)
  const make = (oldSelf: CelType) =>
    new Environment({ libraries: kubernetesLibraries, variables: { self: self.type, oldSelf }, structs: self.structs })
  if (hasOptionalOldSelf) known.optional ??= make(optionalOf(self.type))
  else known.whole ??= make(self.type)
  return (hasOptionalOldSelf ? known.optional : known.whole) as Environment
}

function compiledMessage(
  text: string,
  environment: Environment,
  sizes: SizeEstimator,
): Pick<CompiledRule, 'message' | 'messageError' | 'messageMaxCost'> {
  try {
    const message = environment.compile(text)
    if (message.type.kind !== 'string') return { messageMaxCost: 0, messageError: 'messageExpression must evaluate to a string' }
    return { message, messageMaxCost: estimateCost(message.checked, sizes).max }
  } catch (error) {
    if (error instanceof CelCompileError)
      return { messageMaxCost: 0, messageError: `messageExpression compilation failed: ${error.message}` }
    throw error
  }
}
