import { groups, type UserInfo } from '#apiserver/authn/authenticator.ts'
import { type Attributes, type Authorizer, allowed } from '#apiserver/authz/authorizer.ts'
import { trimEndOf } from '#base/trim-end.ts'

type Policy = {
  readonly user: string
  readonly group: string
  readonly readonly: boolean
  readonly apiGroup: string
  readonly resource: string
  readonly namespace: string
  readonly nonResourcePath: string
}

const readVerbs = ['get', 'list', 'watch']
const textFields = ['user', 'group', 'apiGroup', 'resource', 'namespace', 'nonResourcePath'] as const

/** Policies from a file, one JSON object a line; the first that fits allows. */
export function abacAuthorizer(text: string, path: string): Authorizer {
  const policies = parsePolicies(text, path)
  return {
    authorize: (attributes) =>
      policies.some((policy) => fits(policy, attributes)) ? allowed : { decision: 'noOpinion', reason: 'No policy matched.' },
    rulesFor(user, namespace) {
      const held = policies.filter((policy) => isSubject(policy, user) && (policy.namespace === '*' || policy.namespace === namespace))
      const verbs = ({ readonly }: Policy) => (readonly ? readVerbs : ['*'])
      return {
        resourceRules: held
          .filter(({ resource }) => resource !== '')
          .map((policy) => ({ verbs: verbs(policy), apiGroups: [policy.apiGroup], resources: [policy.resource] })),
        nonResourceRules: held
          .filter(({ nonResourcePath }) => nonResourcePath !== '')
          .map((policy) => ({ verbs: verbs(policy), nonResourceURLs: [policy.nonResourcePath] })),
        incomplete: false,
      }
    },
  }
}

function parsePolicies(text: string, path: string): Policy[] {
  const policies: Policy[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    try {
      policies.push(policyOf(JSON.parse(trimmed)))
    } catch (error) {
      throw new Error(`error reading policy file ${path}, line ${index + 1}: ${trimmed}: ${error instanceof Error ? error.message : error}`)
    }
  }
  return policies
}

function policyOf(value: unknown): Policy {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error('a policy is an object')
  const object = value as Record<string, unknown>
  if (object['kind'] === undefined && object['apiVersion'] === undefined) return ofOldForm(fieldsOf(object))
  if (object['kind'] !== 'Policy' || object['apiVersion'] !== 'abac.authorization.kubernetes.io/v1beta1') {
    throw new Error(`expected Policy of abac.authorization.kubernetes.io/v1beta1, found ${object['kind']} of ${object['apiVersion']}`)
  }
  const spec = object['spec'] ?? {}
  if (typeof spec !== 'object' || Array.isArray(spec)) throw new Error('spec is not an object')
  return forAuthenticated(fieldsOf(spec as Record<string, unknown>))
}

function fieldsOf(object: Record<string, unknown>): Policy {
  const texts = textFields.map((field) => {
    const value = object[field] ?? ''
    if (typeof value !== 'string') throw new Error(`${field} is not a string`)
    return [field, value] as const
  })
  const readonly = object['readonly'] ?? false
  // A line that means to allow less must not allow more for want of the right type.
  if (typeof readonly !== 'boolean') throw new Error('readonly is not a boolean')
  return { ...Object.fromEntries(texts), readonly } as Policy
}

/** Lines without a version: what is not said means anything. */
function ofOldForm(policy: Policy): Policy {
  const subject = policy.user === '' && policy.group === '' ? { group: groups.authenticated } : {}
  const isForAll = policy.namespace === '' && policy.resource === ''
  return forAuthenticated({
    ...policy,
    ...subject,
    apiGroup: '*',
    namespace: policy.namespace || '*',
    resource: policy.resource || '*',
    nonResourcePath: isForAll ? '*' : '',
  })
}

/** A star stands for everybody who has shown who he is. */
function forAuthenticated(policy: Policy): Policy {
  return policy.user === '*' || policy.group === '*' ? { ...policy, user: '', group: groups.authenticated } : policy
}

function fits(policy: Policy, attributes: Attributes): boolean {
  if (!isSubject(policy, attributes.user)) return false
  if (policy.readonly && !readVerbs.includes(attributes.verb)) return false
  if (!attributes.isResourceRequest) {
    const { nonResourcePath: held } = policy
    return held === attributes.path || (held.endsWith('*') && attributes.path.startsWith(trimEndOf(held, '*')))
  }
  const isOrAny = (wanted: string, actual: string) => wanted === '*' || wanted === actual
  return (
    isOrAny(policy.namespace, attributes.namespace) &&
    isOrAny(policy.resource, attributes.resource) &&
    isOrAny(policy.apiGroup, attributes.group)
  )
}

function isSubject({ user: name, group }: Policy, user: UserInfo): boolean {
  if (name === '' && group === '') return false
  return (name === '' || name === user.name) && (group === '' || user.groups.includes(group))
}
