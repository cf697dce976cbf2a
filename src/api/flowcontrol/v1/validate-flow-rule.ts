/** Rules for which requests a flow schema speaks of. */
import type {
  V1NonResourcePolicyRule,
  V1PolicyRulesWithSubjects,
  V1ResourcePolicyRule,
  V1ServiceAccountSubject,
  V1Subject,
} from '#api/flowcontrol/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
import { dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']

export function validateFlowRule(rule: V1PolicyRulesWithSubjects, check: Check): void {
  if (!rule.subjects?.length) check.at('subjects').required('subjects must contain at least one value')
  each(rule.subjects, check.at('subjects'), validateSubject)
  if (!rule.resourceRules?.length && !rule.nonResourceRules?.length) {
    check.required('at least one of resourceRules and nonResourceRules has to be non-empty')
  }
  each(rule.resourceRules, check.at('resourceRules'), validateResourceRule)
  each(rule.nonResourceRules, check.at('nonResourceRules'), validateNonResourceRule)
}

/** Each kind of subject with the field that describes it, in the order in which fields that are not wanted are reported. */
const subjectFields = [
  ['ServiceAccount', 'serviceAccount'],
  ['User', 'user'],
  ['Group', 'group'],
] as const

function validateSubject(subject: V1Subject, check: Check): void {
  const own = subjectFields.find(([kind]) => kind === subject.kind)
  if (!own) {
    check.at('kind').notSupported(subject.kind ?? '', ['Group', 'ServiceAccount', 'User'])
    return
  }
  const [kind, field] = own
  const described = subject[field]
  if (!described) check.at(field).required(`${field} is required when subject kind is '${kind}'`)
  else if (field === 'serviceAccount') validateServiceAccount(described as V1ServiceAccountSubject, check.at(field))
  else if (!described.name) check.at(field).at('name').required()
  for (const [otherKind, other] of subjectFields) {
    if (other !== field && subject[other]) check.at(other).forbidden(`${other} is forbidden when subject kind is not '${otherKind}'`)
  }
}

function validateServiceAccount({ name, namespace }: V1ServiceAccountSubject, check: Check): void {
  if (!name) check.at('name').required()
  else if (name !== '*') mustBe(dns1123Subdomain, name, check.at('name'))
  if (namespace) mustBe(dns1123Label, namespace, check.at('namespace'))
  else check.at('namespace').required('must specify namespace for service account')
}

function validateVerbs(list: readonly string[] | undefined, check: Check): void {
  if (!list?.length) check.required('verbs must contain at least one value')
  else if (list.includes('*')) {
    if (list.length > 1) check.invalid(list, "if '*' is present, must not specify other verbs")
  } else if (!list.every((verb) => verbs.includes(verb))) check.notSupported(list, verbs)
}

function validateNonResourceRule(rule: V1NonResourcePolicyRule, check: Check): void {
  validateVerbs(rule.verbs, check.at('verbs'))
  const urls = rule.nonResourceURLs ?? []
  const at = check.at('nonResourceURLs')
  if (urls.length === 0) at.required('nonResourceURLs must contain at least one value')
  else if (urls.includes('*')) {
    if (urls.length > 1) at.invalid(urls, "if '*' is present, must not specify other non-resource URLs")
  } else each(urls, at, validateUrlPath)
}

function validateUrlPath(path: string, check: Check): void {
  if (path === '') check.invalid(path, 'must not be empty')
  else if (path === '/') return
  else if (!path.startsWith('/')) check.invalid(path, 'must start with slash')
  else if (path.includes(' ')) check.invalid(path, 'must not contain white-space')
  else if (path.includes('//')) check.invalid(path, 'must not contain double slash')
  else if (path.includes('*') && (path.indexOf('*') !== path.length - 1 || !path.endsWith('/*'))) {
    check.invalid(path, 'wildcard can only do suffix matching')
  }
}

function validateResourceRule(rule: V1ResourcePolicyRule, check: Check): void {
  validateVerbs(rule.verbs, check.at('verbs'))
  validateNames(rule.apiGroups, 'api group', check.at('apiGroups'))
  validateNames(rule.resources, 'resource', check.at('resources'))
  const namespaces = rule.namespaces ?? []
  const at = check.at('namespaces')
  if (namespaces.length === 0) {
    if (!rule.clusterScope) at.required('resource rules that are not cluster scoped must supply at least one namespace')
  } else if (namespaces.includes('*')) {
    if (namespaces.length > 1) at.invalid(namespaces, "if '*' is present, must not specify other namespaces")
  } else {
    each(namespaces, at, (namespace, here) => {
      for (const message of dns1123Label(namespace)) {
        here.invalid(namespace, `each member of this list must be '*' or a DNS-1123 label; ${message}`)
      }
    })
  }
}

function validateNames(names: readonly string[] | undefined, what: string, check: Check): void {
  if (!names?.length) check.required(`resource rules must supply at least one ${what}`)
  else if (names.length > 1 && names.includes('*')) check.invalid(names, `if '*' is present, must not specify other ${what}s`)
}
