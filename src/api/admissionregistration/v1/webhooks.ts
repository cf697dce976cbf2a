/** What webhooks that change requests and webhooks that judge them have in common. */
import { validateMatchConditions } from '#api/admissionregistration/v1/match-conditions.ts'
import { matchPolicies } from '#api/admissionregistration/v1/match-resources.ts'
import { defaultRules, validateRule } from '#api/admissionregistration/v1/rules.ts'
import type { V1MutatingWebhook, V1ValidatingWebhook } from '#api/admissionregistration/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { fullyQualifiedName } from '#api/meta/formats.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { dns1035Label, mustBe } from '#api/meta/names.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { validateWebhookService, validateWebhookUrl } from '#api/meta/webhook-client.ts'
import type { RuleContext } from '#api/resource.ts'

type Webhook = V1ValidatingWebhook & Pick<V1MutatingWebhook, 'reinvocationPolicy'>

export function defaultWebhook(webhook: Webhook): void {
  webhook.failurePolicy ??= 'Fail'
  webhook.matchPolicy ??= 'Equivalent'
  webhook.namespaceSelector ??= {}
  webhook.objectSelector ??= {}
  webhook.timeoutSeconds ??= 10
  defaultRules(webhook.rules)
  if (webhook.clientConfig?.service != null) webhook.clientConfig.service.port ??= 443
}

const failurePolicies = ['Fail', 'Ignore']
const sideEffectFree = ['None', 'NoneOnDryRun']
const allSideEffects = ['None', 'NoneOnDryRun', 'Some', 'Unknown']
const reinvocationPolicies = ['IfNeeded', 'Never']
const reviewVersions = ['v1', 'v1beta1']

/** What an update may leave wrong because the stored webhooks already are, and what v1beta1 let pass. */
type Leniency = {
  sideEffects: readonly string[]
  mustKnowReviewVersion: boolean
  mustHaveUniqueNames: boolean
  invalidSelectorValues: boolean
  stored: readonly Webhook[]
  matchConditionsUnchanged: boolean
}

function leniency(webhooks: readonly Webhook[], prev: readonly Webhook[] | undefined, { requestVersion }: RuleContext): Leniency {
  const stored = prev ?? []
  const isOld = requestVersion === 'admissionregistration.k8s.io/v1beta1'
  const names = stored.map(({ name }) => name)
  return {
    sideEffects: !isOld && stored.every(({ sideEffects }) => sideEffectFree.includes(sideEffects)) ? sideEffectFree : allSideEffects,
    mustKnowReviewVersion: stored.every(
      ({ admissionReviewVersions: versions = [] }) => versions.length === 0 || versions.some((each) => reviewVersions.includes(each)),
    ),
    mustHaveUniqueNames: !isOld && new Set(names).size === names.length,
    invalidSelectorValues: stored.some((each) => isInvalid(each.namespaceSelector) || isInvalid(each.objectSelector)),
    stored,
    matchConditionsUnchanged:
      prev !== undefined &&
      webhooks.length === prev.length &&
      webhooks.every(({ matchConditions }, index) => semanticEqual(matchConditions, prev[index]?.matchConditions)),
  }
}

function isInvalid(selector: V1LabelSelector | undefined): boolean {
  const scratch = new Check()
  validateLabelSelector(selector, scratch)
  return scratch.failed
}

/** `prev` is absent on create; `check` stands at the list. */
export function validateWebhooks(
  webhooks: readonly Webhook[] = [],
  prev: readonly Webhook[] | undefined,
  check: Check,
  context: RuleContext,
): void {
  const allowed = leniency(webhooks, prev, context)
  const names = new Set<string>()
  each(webhooks, check, (webhook, item) => {
    const { name = '' } = webhook
    validateWebhook(webhook, item, allowed)
    validateReviewVersions(webhook.admissionReviewVersions ?? [], item.at('admissionReviewVersions'), allowed)
    if (name !== '' && names.has(name) && allowed.mustHaveUniqueNames) item.at('name').duplicate(name)
    names.add(name)
  })
}

function validateWebhook(webhook: Webhook, check: Check, allowed: Leniency): void {
  const { failurePolicy, matchPolicy, timeoutSeconds, reinvocationPolicy } = webhook
  const sideEffects = webhook.sideEffects as string | undefined
  fullyQualifiedName(webhook.name ?? '', check.at('name'))
  each(webhook.rules, check.at('rules'), validateRule)
  if (failurePolicy != null && !failurePolicies.includes(failurePolicy))
    check.at('failurePolicy').notSupported(failurePolicy, failurePolicies)
  if (matchPolicy != null && !matchPolicies.includes(matchPolicy)) check.at('matchPolicy').notSupported(matchPolicy, matchPolicies)
  if (sideEffects == null) check.at('sideEffects').required(`must specify one of ${allowed.sideEffects.join(', ')}`)
  else if (!allowed.sideEffects.includes(sideEffects)) check.at('sideEffects').notSupported(sideEffects, allowed.sideEffects)
  if (timeoutSeconds != null && (timeoutSeconds > 30 || timeoutSeconds < 1)) {
    check.at('timeoutSeconds').invalid(timeoutSeconds, 'the timeout value must be between 1 and 30 seconds')
  }
  const options = { allowInvalidValues: allowed.invalidSelectorValues }
  validateLabelSelector(webhook.namespaceSelector, check.at('namespaceSelector'), options)
  validateLabelSelector(webhook.objectSelector, check.at('objectSelector'), options)
  if (reinvocationPolicy != null && !reinvocationPolicies.includes(reinvocationPolicy)) {
    check.at('reinvocationPolicy').notSupported(reinvocationPolicy, reinvocationPolicies)
  }
  validateClientConfig(webhook, check.at('clientConfig'))
  if (allowed.matchConditionsUnchanged) return
  const stored = allowed.stored.flatMap(({ matchConditions }) => matchConditions ?? [])
  validateMatchConditions(webhook.matchConditions, check.at('matchConditions'), { hasParams: false, stored })
}

function validateClientConfig({ clientConfig }: Webhook, check: Check): void {
  const { url, service } = clientConfig ?? {}
  if ((url == null) === (service == null)) check.required('exactly one of url or service is required')
  else if (url != null) validateWebhookUrl(url, check.at('url'))
  else if (service != null) validateWebhookService(service, check.at('service'))
}

function validateReviewVersions(versions: readonly string[], check: Check, allowed: Leniency): void {
  if (versions.length === 0) {
    check.required(`must specify one of ${reviewVersions.join(', ')}`)
    return
  }
  const seen = new Set<string>()
  each(versions, check, (version, item) => {
    if (seen.has(version)) item.invalid(version, 'duplicate version')
    else mustBe(dns1035Label, version, item)
    seen.add(version)
  })
  if (allowed.mustKnowReviewVersion && !versions.some((version) => reviewVersions.includes(version))) {
    check.invalid(versions, `must include at least one of ${reviewVersions.join(', ')}`)
  }
}
