/** Which requests a policy or a binding is about. */

import type { V1MatchResources, V1NamedRuleWithOperations } from '#api/admissionregistration/v1/types.gen.ts'
import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

type Resource = AdmissionRequest['resource']
type Rule = Omit<V1NamedRuleWithOperations, 'resourceNames'> & { resourceNames?: string[] }

/** The resource as the rule knows it; undefined when the request is none of its business. May throw what is wrong with a selector. */
export function matchedResource(match: V1MatchResources, request: AdmissionRequest, cluster: ClusterView): Resource | undefined {
  if (!namespaceMatches(match.namespaceSelector, request, cluster)) return undefined
  if (!objectMatches(match.objectSelector, request)) return undefined
  if (ruleMatch(match.excludeResourceRules ?? [], match.matchPolicy, request, cluster) !== undefined) return undefined
  return match.resourceRules?.length ? ruleMatch(match.resourceRules, match.matchPolicy, request, cluster) : request.resource
}

/** What has no namespace is never exempt, unless it is one. */
function namespaceMatches(selector: V1LabelSelector | undefined, request: AdmissionRequest, cluster: ClusterView): boolean {
  const isNamespace = request.resource.resource === 'namespaces'
  const name = isNamespace ? request.name : request.namespace
  if (selector === undefined || (request.namespace === '' && !isNamespace)) return true
  const compiled = labelSelectorFrom(selector)
  if (compiled.isEmpty) return true
  const isOwn = isNamespace && request.subresource === '' && (request.operation === 'CREATE' || request.operation === 'UPDATE')
  const labelled = isOwn ? request.object : cluster.get(Namespace, name)
  return compiled.matches(labelled?.metadata?.labels)
}

export function objectMatches(selector: V1LabelSelector | undefined, { object, oldObject }: AdmissionRequest): boolean {
  if (selector === undefined) return true
  const compiled = labelSelectorFrom(selector)
  if (compiled.isEmpty) return true
  return [object, oldObject].some((each) => each !== undefined && compiled.matches(each.metadata?.labels))
}

/** By the name the request uses; or else, where others count as well, by the first rule that means one of them. */
export function ruleMatch(
  rules: readonly Rule[],
  matchPolicy: string | undefined,
  request: AdmissionRequest,
  cluster: ClusterView,
): Resource | undefined {
  if (rules.some((rule) => isAbout(rule, request.resource, request))) return request.resource
  if (rules.length === 0 || matchPolicy === 'Exact') return undefined
  const others = cluster.dynamic.versionsOf(request.definition).map(({ definition: { group, version, plural } }) => ({
    group,
    version,
    resource: plural,
  }))
  for (const rule of rules) {
    const found = others.find((other) => isAbout(rule, other, request))
    if (found !== undefined) return found
  }
  return undefined
}

const includes = (items: readonly string[] | undefined, wanted: string): boolean =>
  items?.some((item) => item === '*' || item === wanted) ?? false

function isAbout(rule: Rule, { group, version, resource }: Resource, request: AdmissionRequest): boolean {
  if (!includes(rule.operations, request.operation) || !includes(rule.apiGroups, group) || !includes(rule.apiVersions, version))
    return false
  if (rule.resourceNames?.length && !rule.resourceNames.includes(request.name)) return false
  const isClusterWide = request.namespace === '' || (group === '' && resource === 'namespaces')
  if (rule.scope === 'Namespaced' ? isClusterWide : rule.scope === 'Cluster' && !isClusterWide) return false
  return (rule.resources ?? []).some((text) => {
    const [name, subresource = ''] = text.split('/')
    return (name === '*' || name === resource) && (subresource === '*' || subresource === request.subresource)
  })
}

/** Reviews are asked by what validates them; and who may change policies must be able to mend them. */
export function isExempt({ group, plural }: AdmissionRequest['definition']): boolean {
  if (group === 'admissionregistration.k8s.io') return plural.includes('admissionpolic')
  return (group === 'authentication.k8s.io' || group === 'authorization.k8s.io') && plural.endsWith('reviews')
}
