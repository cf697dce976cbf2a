/** What is wrong with a policy's expressions, given the kinds of objects it is about. */
import type {
  V1ExpressionWarning,
  V1RuleWithOperations,
  V1ValidatingAdmissionPolicy,
  V1Validation,
} from '#api/admissionregistration/v1/types.gen.ts'
import { admissionTypeCheck, type TypeCheck } from '#api/cel/check-admission-types.ts'
import { type OpenApiSchema, OpenApiTypes } from '#api/cel/schema/openapi-types.ts'
import { dyn } from '#api/cel/types/cel-type.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import { inTurns } from '#base/in-turns.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Steps } from '#base/steps.ts'
import type { Client } from '#client/client.ts'
import { type DiscoveredResource, discover } from '#client/discovery.ts'

/** More kinds than these would only repeat what is told already. */
const maxKinds = 10

type GroupVersionKind = { readonly group: string; readonly version: string; readonly kind: string }

export async function policyWarnings({ spec }: V1ValidatingAdmissionPolicy, client: Client, clock: Clock): Promise<V1ExpressionWarning[]> {
  const rules = spec?.matchConstraints?.resourceRules ?? []
  if (rules.length === 0) return []
  const kinds = kindsOf(rules, (await discover(client)).resources)
  const documents = new Documents(client)
  const checks = new Map<string, TypeCheck>()
  const paramKind = spec?.paramKind
  const paramVersion = paramKind?.apiVersion === undefined ? undefined : parseApiVersion(paramKind.apiVersion)
  for (const kind of kinds) {
    const types = await documents.types(kind)
    const object = types?.typeOfKind(kind.group, kind.version, kind.kind)
    if (types === undefined || object === undefined) continue
    const paramTypes = paramVersion === undefined ? undefined : await documents.types(paramVersion)
    const params =
      paramKind === undefined
        ? undefined
        : (paramVersion && paramTypes?.typeOfKind(paramVersion.group, paramVersion.version, paramKind.kind ?? '')) || dyn
    const structNamed = (name: string) => types.structNamed(name) ?? paramTypes?.structNamed(name)
    const { group, version, kind: shown } = kind
    const check = await inTurns(admissionTypeCheck({ object, params, structNamed }, spec?.variables ?? []), clock)
    checks.set(`${group}/${version}, Kind=${shown}`, check)
  }
  return inTurns(warningsOf(spec?.validations ?? [], checks), clock)
}

function* warningsOf(validations: readonly V1Validation[], checks: ReadonlyMap<string, TypeCheck>): Steps<V1ExpressionWarning[]> {
  const found: V1ExpressionWarning[] = []
  for (const [index, { expression, messageExpression }] of validations.entries()) {
    const fields = { expression, ...omitEmpty({ messageExpression }) }
    for (const [field, text] of Object.entries(fields)) {
      const warnings: string[] = []
      for (const [kind, check] of checks) {
        const issue = check(text)
        if (issue !== undefined) warnings.push(`${kind}: ${issue}\n`)
        yield
      }
      if (warnings.length > 0) found.push({ fieldRef: `spec.validations[${index}].${field}`, warning: warnings.join('\n') })
    }
  }
  return found
}

/** Of rules that name them: what a star stands for changes. */
function kindsOf(rules: readonly V1RuleWithOperations[], resources: readonly DiscoveredResource[]): GroupVersionKind[] {
  const found = new Map<string, GroupVersionKind>()
  for (const { apiGroups = [], apiVersions = [], resources: names = [] } of rules) {
    if ([...apiGroups, ...apiVersions].some((text) => text.includes('*'))) continue
    const named = new Set(names.filter((name) => !/[*/]/.test(name)))
    for (const { group, version, kind, plural } of resources) {
      if (found.size >= maxKinds) break
      if (named.has(plural) && apiGroups.includes(group) && apiVersions.includes(version))
        found.set(`${group}/${version}/${kind}`, { group, version, kind })
    }
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, kind]) => kind)
}

/** Those of one policy, each fetched once. */
class Documents {
  readonly #client: Client
  readonly #known = new Map<string, Promise<OpenApiTypes | undefined>>()

  constructor(client: Client) {
    this.#client = client
  }

  types({ group, version }: { group: string; version: string }): Promise<OpenApiTypes | undefined> {
    const path = group === '' ? `/openapi/v3/api/${version}` : `/openapi/v3/apis/${group}/${version}`
    return this.#known.getOrInsertComputed(path, async () => {
      const text = await this.#client.raw(path).catch(ignoreNotFound)
      if (text === undefined) return undefined
      const { components } = JSON.parse(text) as { components?: { schemas?: Record<string, OpenApiSchema> } }
      return new OpenApiTypes(components?.schemas ?? {})
    })
  }
}
