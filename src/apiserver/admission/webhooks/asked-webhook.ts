/** Whether a webhook is asked about a request, and in which version. */
import { Namespace } from '#api/core/v1/kinds.gen.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import { forbidden, notFound } from '#api/meta/status-error.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import { objectMatches, ruleMatch } from '#apiserver/admission/policies/request-match.ts'
import { type ShownVersion, shownVersion } from '#apiserver/admission/shown-version.ts'
import type { ConfiguredWebhook, Webhook } from '#apiserver/admission/webhooks/configured-webhooks.ts'
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
  const resource = ruleMatch(webhook.rules ?? [], webhook.matchPolicy, request, cluster)
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
