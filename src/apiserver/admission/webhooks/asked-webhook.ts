/** Whether a webhook is asked about a request, and in which version. */
import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import { forbidden, notFound } from '#api/meta/status-error.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import { isAbout, objectMatches } from '#apiserver/admission/policies/request-match.ts'
import type { ConfiguredWebhook, Webhook } from '#apiserver/admission/webhooks/configured-webhooks.ts'
import { type ResourceVersion, type ShownVersion, shownVersion } from '#apiserver/admission/webhooks/shown-version.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

/** Whether its conditions hold; a text where that cannot be told. */
export type MatchConditions = (webhook: Webhook, request: AdmissionRequest, shown: ShownVersion) => Promise<boolean | string>

/** Undefined when the request is none of its business. Throws a refusal where that cannot be told. */
export async function askedWebhook(
  { webhook }: ConfiguredWebhook,
  request: AdmissionRequest,
  cluster: ClusterView,
  conditionsHold: MatchConditions,
): Promise<ShownVersion | undefined> {
  const isInNamespace = namespaceMatches(webhook, request, cluster)
  if (isInNamespace === false || !objectMatches(webhook.objectSelector, request)) return undefined
  const resource = matchedVersion(webhook, request, cluster)
  if (resource === undefined) return undefined
  if (isInNamespace !== true) throw notFound({ group: '', resource: 'namespaces' }, request.namespace)
  const shown = shownVersion(request, resource, cluster)
  if (!webhook.matchConditions?.length) return shown
  const holds = await conditionsHold(webhook, request, shown)
  if (typeof holds === 'string') throw forbidden(request.resource, request.name, holds)
  return holds ? shown : undefined
}

/** What has no namespace is never exempt, unless it is one. Undefined where the namespace is not there. */
function namespaceMatches({ namespaceSelector }: Webhook, request: AdmissionRequest, cluster: ClusterView): boolean | undefined {
  const isNamespace = request.resource.resource === 'namespaces' && request.resource.group === ''
  if (namespaceSelector === undefined || (request.namespace === '' && !isNamespace)) return true
  const selector = labelSelectorFrom(namespaceSelector)
  if (selector.isEmpty) return true
  const isOwn = isNamespace && request.subresource === '' && (request.operation === 'CREATE' || request.operation === 'UPDATE')
  const namespace = isOwn ? request.object : cluster.get(Namespace, isNamespace ? request.name : request.namespace)
  return namespace === undefined ? undefined : selector.matches(namespace.metadata?.labels)
}

/** By the name the request uses; or else, where others count as well, by the first rule that means one of them. */
function matchedVersion(
  { rules = [], matchPolicy }: Webhook,
  request: AdmissionRequest,
  cluster: ClusterView,
): ResourceVersion | undefined {
  if (rules.some((rule) => isAbout(rule, request.resource, request))) return request.resource
  if (matchPolicy !== 'Equivalent') return undefined
  const others = cluster.dynamic.versionsOf(request.definition).map(({ definition }) => {
    const { group, version, plural } = definition
    return { group, version, resource: plural }
  })
  for (const rule of rules) {
    const found = others.find((other) => isAbout(rule, other, request))
    if (found !== undefined) return found
  }
  return undefined
}
