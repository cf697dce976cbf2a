/** Rules for which requests a flow schema speaks of. */
import type {
  V1NonResourcePolicyRule,
  V1PolicyRulesWithSubjects,
  V1ResourcePolicyRule,
  V1ServiceAccountSubject,
  V1Subject,
} from '#api/flowcontrol/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']

export function validateFlowRule(check: Check<V1PolicyRulesWithSubjects>): void {
  const rule = check.value
  if (!rule.subjects?.length) check.at('subjects').required('subjects must contain at least one value')
  check.at('subjects').each(validateSubject)
  if (!rule.resourceRules?.length && !rule.nonResourceRules?.length) {
    check.required('at least one of resourceRules and nonResourceRules has to be non-empty')
  }
  check.at('resourceRules').each(validateResourceRule)
  check.at('nonResourceRules').each(validateNonResourceRule)
}

/** Each kind of subject with the field that describes it, in the order in which fields that are not wanted are reported. */
const subjectFields = [
  ['ServiceAccount', 'serviceAccount'],
  ['User', 'user'],
  ['Group', 'group'],
] as const

function validateSubject(check: Check<V1Subject>): void {
  const subject = check.value
  const own = subjectFields.find(([kind]) => kind === subject.kind)
  if (!own) {
    check.at('kind').or('').notSupported(['Group', 'ServiceAccount', 'User'])
    return
  }
  const [kind, field] = own
  const described = subject[field]
  if (!described) check.at(field).required(`${field} is required when subject kind is '${kind}'`)
  else if (field === 'serviceAccount') validateServiceAccount(check.at(field).with(described as V1ServiceAccountSubject))
  else if (!described.name) check.at(field).at('name').required()
  for (const [otherKind, other] of subjectFields) {
    if (other !== field && subject[other]) check.at(other).forbidden(`${other} is forbidden when subject kind is not '${otherKind}'`)
  }
}

function validateServiceAccount(check: Check<V1ServiceAccountSubject>): void {
  const { name, namespace } = check.value
  if (!name) check.at('name').required()
  else if (name !== '*') mustBe(dns1123Subdomain, check.at('name'))
  if (namespace) mustBe(dns1123Label, check.at('namespace'))
  else check.at('namespace').required('must specify namespace for service account')
}

function validateVerbs(check: Check<readonly string[] | undefined>): void {
  const list = check.value
  if (!list?.length) check.required('verbs must contain at least one value')
  else if (list.includes('*')) {
    if (list.length > 1) check.invalid("if '*' is present, must not specify other verbs")
  } else if (!list.every((verb) => verbs.includes(verb))) check.notSupported(verbs)
}

function validateNonResourceRule(check: Check<V1NonResourcePolicyRule>): void {
  const rule = check.value
  validateVerbs(check.at('verbs'))
  const urls = rule.nonResourceURLs ?? []
  const at = check.at('nonResourceURLs')
  if (urls.length === 0) at.required('nonResourceURLs must contain at least one value')
  else if (urls.includes('*')) {
    if (urls.length > 1) at.or([]).invalid("if '*' is present, must not specify other non-resource URLs")
  } else at.each(validateUrlPath)
}

function validateUrlPath(check: Check<string>): void {
  const path = check.value
  if (path === '') check.invalid('must not be empty')
  else if (path === '/') return
  else if (!path.startsWith('/')) check.invalid('must start with slash')
  else if (path.includes(' ')) check.invalid('must not contain white-space')
  else if (path.includes('//')) check.invalid('must not contain double slash')
  else if (path.includes('*') && (path.indexOf('*') !== path.length - 1 || !path.endsWith('/*'))) {
    check.invalid('wildcard can only do suffix matching')
  }
}

function validateResourceRule(check: Check<V1ResourcePolicyRule>): void {
  const rule = check.value
  validateVerbs(check.at('verbs'))
  validateNames(check.at('apiGroups'), 'api group')
  validateNames(check.at('resources'), 'resource')
  const namespaces = rule.namespaces ?? []
  const at = check.at('namespaces')
  if (namespaces.length === 0) {
    if (!rule.clusterScope) at.required('resource rules that are not cluster scoped must supply at least one namespace')
  } else if (namespaces.includes('*')) {
    if (namespaces.length > 1) at.or([]).invalid("if '*' is present, must not specify other namespaces")
  } else {
    at.each((here) => {
      const namespace = here.value
      for (const message of dns1123Label(namespace)) {
        here.invalid(`each member of this list must be '*' or a DNS-1123 label; ${message}`)
      }
    })
  }
}

function validateNames(check: Check<readonly string[] | undefined>, what: string): void {
  const names = check.value
  if (!names?.length) check.required(`resource rules must supply at least one ${what}`)
  else if (names.length > 1 && names.includes('*')) check.invalid(`if '*' is present, must not specify other ${what}s`)
}
