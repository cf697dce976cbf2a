/** A FlowSchema in the form that decides quickly which requests are its. */
import type {
  V1FlowSchema,
  V1NonResourcePolicyRule,
  V1PolicyRulesWithSubjects,
  V1ResourcePolicyRule,
  V1Subject,
} from '#api/flowcontrol/v1/types.gen.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { PriorityLevel } from './priority-level.ts'

type Test<T> = (value: T) => boolean
type Rule = { readonly isBy: Test<UserInfo>; readonly resource: Test<RequestInfo>; readonly path: Test<RequestInfo> }

export class FlowSchema {
  readonly name: string
  readonly uid: string
  readonly precedence: number
  readonly level: PriorityLevel
  readonly #distinguisher: string | undefined
  readonly #rules: readonly Rule[]
  /** How many requests run and wait, for the metrics. */
  readonly executing = { requests: 0, seats: 0 }
  readonly waiting = { requests: 0, seats: 0 }

  constructor({ metadata, spec }: V1FlowSchema, level: PriorityLevel) {
    this.name = metadata?.name ?? ''
    this.uid = metadata?.uid ?? ''
    this.precedence = spec?.matchingPrecedence ?? 1000
    this.level = level
    this.#distinguisher = spec?.distinguisherMethod?.type
    this.#rules = (spec?.rules ?? []).map(compiled)
  }

  matches(info: RequestInfo, user: UserInfo): boolean {
    return this.#rules.some(({ isBy, resource, path }) => isBy(user) && (info.isResourceRequest ? resource(info) : path(info)))
  }

  /** Requests of one flow wait behind each other; flows take turns. */
  flowOf(info: RequestInfo, user: UserInfo): string {
    switch (this.#distinguisher) {
      case 'ByUser':
        return user.name
      case 'ByNamespace':
        return info.namespace
      default:
        return ''
    }
  }
}

/** Low numbers first; of equals the one that comes first in the alphabet. */
export function byPrecedence(one: FlowSchema, other: FlowSchema): number {
  return one.precedence - other.precedence || (one.name < other.name ? -1 : 1)
}

function compiled({ subjects, resourceRules = [], nonResourceRules = [] }: V1PolicyRulesWithSubjects): Rule {
  return {
    isBy: anyOf(subjects.map(subjectTest)),
    resource: anyOf(resourceRules.map(resourceTest)),
    path: anyOf(nonResourceRules.map(pathTest)),
  }
}

function anyOf<T>(tests: readonly Test<T>[]): Test<T> {
  if (tests.length === 1) return tests[0] as Test<T>
  return (value) => tests.some((test) => test(value))
}

function subjectTest({ kind, user, group, serviceAccount }: V1Subject): Test<UserInfo> {
  if (kind === 'User' && user) return ({ name }) => user.name === '*' || user.name === name
  if (kind === 'Group' && group) return ({ groups }) => group.name === '*' || groups.includes(group.name)
  if (kind === 'ServiceAccount' && serviceAccount) {
    const prefix = `system:serviceaccount:${serviceAccount.namespace}:`
    if (serviceAccount.name === '*') return ({ name }) => name.startsWith(prefix)
    return ({ name }) => name === prefix + serviceAccount.name
  }
  return () => false
}

function resourceTest({ verbs, apiGroups, resources, clusterScope, namespaces }: V1ResourcePolicyRule): Test<RequestInfo> {
  const [verb, group, resource, namespace] = [oneOf(verbs), oneOf(apiGroups), oneOf(resources), oneOf(namespaces ?? [])]
  return (info) =>
    verb(info.verb) &&
    resource(info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`) &&
    group(info.group) &&
    (info.namespace === '' ? clusterScope === true : namespace(info.namespace))
}

function pathTest({ verbs, nonResourceURLs }: V1NonResourcePolicyRule): Test<RequestInfo> {
  const verb = oneOf(verbs)
  const isUnder = anyOf(
    nonResourceURLs.map((url): Test<string> => {
      if (url === '*') return () => true
      const stem = url.replace(/\*$/, '')
      const prefix = stem.endsWith('/') ? stem : `${stem}/`
      return (path) => path === url || path.startsWith(prefix)
    }),
  )
  return (info) => verb(info.verb) && isUnder(info.path)
}

/** A star stands alone and means all. */
function oneOf(names: readonly string[]): Test<string> {
  if (names.length === 1 && names[0] === '*') return () => true
  const set = new Set(names)
  return (name) => set.has(name)
}
