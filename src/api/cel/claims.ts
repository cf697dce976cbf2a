/** The expressions of structured authentication: what the claims of a token mean, and whether a user is let in. */
import { Environment, type Program } from '#api/cel/environment.ts'
import { kubernetesLibraries } from '#api/cel/libraries.ts'
import { type Expression, operators } from '#api/cel/syntax/expression.ts'
import { CelCompileError } from '#api/cel/syntax/source.ts'
import { any, listOf, mapOf, string, struct } from '#api/cel/types/cel-type.ts'
import { structType } from '#api/cel/types/struct-types.ts'
import { unescapedName } from '#api/cel/values/escaped-names.ts'
import { JsonList, JsonMap } from '#api/cel/values/json.ts'
import { CelList, type Value } from '#api/cel/values/value.ts'

const strings = listOf(string)

const environments = {
  claims: new Environment({ libraries: kubernetesLibraries, variables: { claims: mapOf(string, any) } }),
  user: new Environment({
    libraries: kubernetesLibraries,
    variables: { user: struct('kubernetes.UserInfo') },
    structs: [structType('kubernetes.UserInfo', { username: string, uid: string, groups: strings, extra: mapOf(string, strings) })],
  }),
}

export type IdentityResult = { readonly program: Program } | { readonly detail: string }

/** Rules must be bools; what a claim is mapped to is looked at when it is there. */
export function compileIdentity(text: string, variable: 'claims' | 'user', use: 'rule' | 'mapping'): IdentityResult {
  try {
    const program = environments[variable].compile(text)
    return use === 'rule' && program.type.kind !== 'bool' ? { detail: 'must evaluate to bool' } : { program }
  } catch (error) {
    if (error instanceof CelCompileError) return { detail: `compilation failed: ${error.message}` }
    throw error
  }
}

/** Numbers of a token are doubles. */
export function identityValue(json: unknown): Value {
  if (typeof json === 'number' || typeof json === 'string' || typeof json === 'boolean') return json
  if (json === null || json === undefined) return null
  return Array.isArray(json) ? new JsonList(json, identityValue) : new EscapedMap(json as Record<string, unknown>, identityValue)
}

/** `claims.a__dot__b` is the claim `a.b`. */
class EscapedMap extends JsonMap {
  override get(key: Value): Value | undefined {
    return super.get(typeof key === 'string' ? (unescapedName(key) ?? key) : key)
  }
}

/** Throws with the expression that failed. */
export function identityOf(program: Program, variable: 'claims' | 'user', value: Value): Value {
  try {
    return program.evaluate((name) => (name === variable ? value : undefined)).value
  } catch (error) {
    throw new Error(`expression '${program.text}' resulted in error: ${(error as Error).message}`)
  }
}

/** A text or a list of texts, without empty ones; undefined for anything else. */
export function textsOf(value: Value): string[] | undefined {
  if (value === null) return []
  const list = typeof value === 'string' ? [value] : value instanceof CelList ? [...value] : undefined
  if (list === undefined || !list.every((each): each is string => typeof each === 'string')) return undefined
  return list.filter((text) => text !== '')
}

/** Whether it looks at `claims.NAME`. */
export function usesClaim({ checked }: Program, claim: string): boolean {
  const isClaims = (expression: Expression | undefined): boolean => expression?.kind === 'identifier' && expression.name === 'claims'
  const seen = new Set<Expression>()
  const visit = (expression: Expression): boolean => {
    if (seen.has(expression)) return false
    seen.add(expression)
    switch (expression.kind) {
      case 'select':
        return (isClaims(expression.operand) && expression.field === claim) || visit(expression.operand)
      case 'call': {
        const [first, second] = expression.args
        const isNamed = second?.kind === 'literal' && second.literal.type === 'string' && second.literal.value === claim
        if (expression.name === operators.optionalSelect && isClaims(first) && isNamed) return true
        return expression.args.some(visit) || (expression.target !== undefined && visit(expression.target))
      }
      case 'list':
        return expression.elements.some(visit)
      case 'map':
        return expression.entries.some(({ key, value }) => visit(key) || visit(value))
      case 'struct':
        return expression.fields.some(({ value }) => visit(value))
      case 'comprehension':
        return [expression.range, expression.init, expression.condition, expression.step, expression.result].some(visit)
      default:
        return false
    }
  }
  return visit(checked.expression)
}
