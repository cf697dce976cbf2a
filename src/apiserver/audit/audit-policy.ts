/** Which requests are put on record, and how much of them. */

import type { V1GroupResources, V1PolicyRule } from '#api/audit/v1/types.gen.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { ConfigDocument } from '#apiserver/config-document.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import { defined } from '#base/defined.ts'

const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
export type AuditLevel = (typeof auditLevels)[number]

const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const
export type AuditStage = (typeof auditStages)[number]

/** What becomes of one request. */
export type AuditDecision = {
  readonly level: AuditLevel
  readonly omitStages: ReadonlySet<AuditStage>
  readonly omitManagedFields: boolean
}

type Rule = { readonly decision: AuditDecision; matches(info: RequestInfo, user: UserInfo): boolean }

export class AuditPolicy {
  readonly #rules: readonly Rule[]
  readonly #otherwise: AuditDecision

  constructor(rules: readonly V1PolicyRule[], standard: { omitStages: readonly AuditStage[]; omitManagedFields: boolean }) {
    this.#otherwise = { level: 'None', omitStages: new Set(standard.omitStages), omitManagedFields: standard.omitManagedFields }
    this.#rules = rules.map((rule) => ({
      decision: {
        level: rule.level as AuditLevel,
        omitStages: new Set([...standard.omitStages, ...((rule.omitStages ?? []) as AuditStage[])]),
        omitManagedFields: rule.omitManagedFields ?? standard.omitManagedFields,
      },
      matches: (info, user) => matches(rule, info, user),
    }))
  }

  /** The first rule that matches decides; what none matches is not recorded. */
  decide(info: RequestInfo, user: UserInfo): AuditDecision {
    return this.#rules.find((rule) => rule.matches(info, user))?.decision ?? this.#otherwise
  }

  /** Throws with everything that is wrong. */
  static async read(text: string, path: string): Promise<AuditPolicy> {
    const { document, root } = await ConfigDocument.read(text, path, 'Policy', ['audit.k8s.io/v1'], fields)
    const rules = document.list(root['rules'], 'rules', (value, at) => readRule(document, value, at))
    const omitStages = stages(document, root['omitStages'], 'omitStages')
    const omitManagedFields = document.flag(root['omitManagedFields'], 'omitManagedFields', false)
    if (rules.length === 0) throw new Error(`${path}: the policy has no rules`)
    return new AuditPolicy(rules, { omitStages, omitManagedFields })
  }
}

const fields = ['metadata', 'rules', 'omitStages', 'omitManagedFields']
const ruleFields = [
  'level',
  'users',
  'userGroups',
  'verbs',
  'resources',
  'namespaces',
  'nonResourceURLs',
  'omitStages',
  'omitManagedFields',
]

function readRule(document: ConfigDocument, value: unknown, at: string): V1PolicyRule {
  const rule = document.map(value, at, ruleFields)
  const texts = (name: string) => document.list(rule[name], `${at}.${name}`, (one, where) => document.text(one, where))
  const resources = document.list(rule['resources'], `${at}.resources`, (one, where) => readResources(document, one, where))
  const level = document.text(rule['level'], `${at}.level`)
  const nonResourceURLs = texts('nonResourceURLs')
  const namespaces = texts('namespaces')
  const wrong: { field: string; body: string }[] = []
  if (level === '') wrong.push({ field: `${at}.level`, body: 'Required value' })
  else if (!(auditLevels as readonly string[]).includes(level)) {
    const supported = auditLevels.map((each) => JSON.stringify(each)).join(', ')
    wrong.push({ field: `${at}.level`, body: `Unsupported value: ${JSON.stringify(level)}: supported values: ${supported}` })
  }
  nonResourceURLs.forEach((url, index) => {
    const complain = (why: string) =>
      wrong.push({ field: `${at}.nonResourceURLs[${index}]`, body: `Invalid value: ${JSON.stringify(url)}: ${why}` })
    if (url === '*') return
    if (!url.startsWith('/')) complain("non-resource URL rules must begin with a '/' character")
    if (url.slice(0, -1).includes('*')) complain("non-resource URL wildcards '*' must be the final character of the rule")
  })
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    const shown = JSON.stringify(nonResourceURLs)
    wrong.push({
      field: `${at}.nonResourceURLs`,
      body: `Invalid value: ${shown}: rules cannot apply to both regular resources and non-resource URLs`,
    })
  }
  document.mustBeSound(wrong)
  const omitManagedFields = rule['omitManagedFields']
  return {
    level,
    users: texts('users'),
    userGroups: texts('userGroups'),
    verbs: texts('verbs'),
    resources,
    namespaces,
    nonResourceURLs,
    omitStages: stages(document, rule['omitStages'], `${at}.omitStages`),
    ...defined({ omitManagedFields: typeof omitManagedFields === 'boolean' ? omitManagedFields : undefined }),
  }
}

function readResources(document: ConfigDocument, value: unknown, at: string): V1GroupResources {
  const entry = document.map(value, at, ['group', 'resources', 'resourceNames'])
  const texts = (name: string) => document.list(entry[name], `${at}.${name}`, (one, where) => document.text(one, where))
  const group = document.text(entry['group'], `${at}.group`)
  const [resources, resourceNames] = [texts('resources'), texts('resourceNames')]
  const wrong: { field: string; body: string }[] = []
  if (group !== '' && group !== '*' && !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(group)) {
    wrong.push({ field: `${at}.group`, body: `Invalid value: ${JSON.stringify(group)}: this is not the name of a group` })
  }
  if (resourceNames.length > 0 && resources.length === 0) {
    const shown = JSON.stringify(resourceNames)
    wrong.push({ field: `${at}.resourceNames`, body: `Invalid value: ${shown}: using resourceNames requires at least one resource` })
  }
  document.mustBeSound(wrong)
  return { group, resources, resourceNames }
}

function stages(document: ConfigDocument, value: unknown, at: string): AuditStage[] {
  return document.list(value, at, (one, where) => {
    const stage = document.text(one, where)
    if (!(auditStages as readonly string[]).includes(stage)) {
      document.mustBeSound([{ field: where, body: `Invalid value: ${JSON.stringify(stage)}: allowed stages are ${auditStages.join(',')}` }])
    }
    return stage as AuditStage
  })
}

function matches(rule: V1PolicyRule, info: RequestInfo, user: UserInfo): boolean {
  const { users = [], userGroups = [], verbs = [], namespaces = [], resources = [], nonResourceURLs = [] } = rule
  if (users.length > 0 && !users.includes(user.name)) return false
  if (userGroups.length > 0 && !user.groups.some((group) => userGroups.includes(group))) return false
  if (verbs.length > 0 && !verbs.includes(info.verb)) return false
  if (namespaces.length > 0 || resources.length > 0) return matchesResource(namespaces, resources, info)
  if (nonResourceURLs.length > 0) return !info.isResourceRequest && nonResourceURLs.some((url) => matchesPath(url, info.path))
  return true
}

function matchesResource(namespaces: readonly string[], resources: readonly V1GroupResources[], info: RequestInfo): boolean {
  if (!info.isResourceRequest) return false
  if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false
  if (resources.length === 0) return true
  const { resource, subresource, name } = info
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  return resources.some(({ group = '', resources: listed = [], resourceNames = [] }) => {
    if (group !== '*' && group !== info.group) return false
    if (listed.length === 0) return true
    if (resourceNames.length > 0 && !resourceNames.includes(name)) return false
    return listed.some(
      (each) => each === '*' || each === whole || each === `${resource}/*` || (subresource !== '' && each === `*/${subresource}`),
    )
  })
}

function matchesPath(url: string, path: string): boolean {
  return url === '*' || url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)))
}
