import type {
  V1ResourceAttributes,
  V1SubjectAccessReviewSpec,
  V1SubjectAccessReviewStatus,
  V1SubjectRulesReviewStatus,
} from '#api/authorization/v1/types.gen.ts'
import { parseFieldSelector } from '#api/meta/field-selector.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { Attributes, Authorizer, FieldRequirement, LabelRequirement } from '#apiserver/authz/authorizer.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** The status of a SubjectAccessReview, or, with the user who asks, of a SelfSubjectAccessReview. The spec has been validated. */
export async function reviewAccess(
  spec: V1SubjectAccessReviewSpec,
  authorizer: Authorizer,
  self?: UserInfo,
): Promise<V1SubjectAccessReviewStatus> {
  const user = self ?? { name: spec.user ?? '', uid: spec.uid, groups: spec.groups ?? [], extra: spec.extra ?? {} }
  const problems: string[] = []
  const { decision, reason, error } = await authorizer.authorize(attributesOf(spec, user, problems))
  if (error !== undefined) problems.unshift(error)
  return {
    allowed: decision === 'allow',
    ...omitEmpty({ denied: decision === 'deny', reason, evaluationError: problems.join('; ') }),
  }
}

/** The status of a SelfSubjectRulesReview. */
export function reviewRules(user: UserInfo, namespace: string, authorizer: Authorizer): V1SubjectRulesReviewStatus {
  const rules = authorizer.rulesFor?.(user, namespace)
  if (rules === undefined) return { resourceRules: [], nonResourceRules: [], incomplete: true }
  return {
    resourceRules: rules.resourceRules.map(({ verbs, apiGroups, resources, resourceNames = [] }) => ({
      verbs: [...verbs],
      ...omitEmpty({ apiGroups: [...apiGroups], resources: [...resources], resourceNames: [...resourceNames] }),
    })),
    nonResourceRules: rules.nonResourceRules.map(({ verbs, nonResourceURLs }) => ({
      verbs: [...verbs],
      nonResourceURLs: [...nonResourceURLs],
    })),
    incomplete: rules.incomplete,
    ...defined({ evaluationError: rules.evaluationError }),
  }
}

function attributesOf(
  { resourceAttributes: resource, nonResourceAttributes: path }: V1SubjectAccessReviewSpec,
  user: UserInfo,
  problems: string[],
): Attributes {
  const common = { user, namespace: '', group: '', version: '', resource: '', subresource: '', name: '', path: '' }
  if (resource === undefined) return { ...common, verb: path?.verb ?? '', path: path?.path ?? '', isResourceRequest: false }
  return {
    ...common,
    verb: resource.verb ?? '',
    namespace: resource.namespace ?? '',
    group: resource.group ?? '',
    version: resource.version || '*',
    resource: resource.resource ?? '',
    subresource: resource.subresource ?? '',
    name: resource.name ?? '',
    isResourceRequest: true,
    fieldSelector: understood('fieldSelector', () => fieldRequirements(resource), problems),
    labelSelector: understood('labelSelector', () => labelRequirements(resource), problems),
  }
}

type Understood<T> = { requirements: T[]; hasProblems: boolean }

/** What is not understood is left out: that asks for more than was asked for, never for less. */
function understood<T>(field: string, read: () => Understood<T>, problems: string[]): T[] | undefined {
  let result: Understood<T>
  try {
    result = read()
  } catch {
    result = { requirements: [], hasProblems: true }
  }
  const { requirements, hasProblems } = result
  const how = requirements.length > 0 ? 'partially ignored' : 'ignored'
  if (hasProblems) problems.push(`spec.resourceAttributes.${field} ${how} due to parse error`)
  return requirements.length === 0 ? undefined : requirements
}

function fieldRequirements({ fieldSelector }: V1ResourceAttributes): Understood<FieldRequirement> {
  if (fieldSelector?.rawSelector) return { requirements: [...parseFieldSelector(fieldSelector.rawSelector).terms], hasProblems: false }
  const requirements: FieldRequirement[] = []
  const asked = fieldSelector?.requirements ?? []
  for (const { key = '', operator, values = [] } of asked) {
    const [value] = values
    if (values.length !== 1 || value === undefined) continue
    if (operator === 'In') requirements.push({ field: key, operator: '=', value })
    if (operator === 'NotIn') requirements.push({ field: key, operator: '!=', value })
  }
  return { requirements, hasProblems: requirements.length < asked.length }
}

const labelOperators: Record<string, LabelRequirement['operator']> = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!' }

function labelRequirements({ labelSelector }: V1ResourceAttributes): Understood<LabelRequirement> {
  if (labelSelector?.rawSelector)
    return { requirements: [...parseLabelSelector(labelSelector.rawSelector).requirements], hasProblems: false }
  const requirements: LabelRequirement[] = []
  const asked = labelSelector?.requirements ?? []
  for (const { key = '', operator = '', values = [] } of asked) {
    const known = labelOperators[operator]
    if (known !== undefined) requirements.push({ key, operator: known, values })
  }
  return { requirements, hasProblems: requirements.length < asked.length }
}
