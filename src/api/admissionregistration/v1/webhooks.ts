/** What webhooks that change requests and webhooks that validate them have in common. */

import { ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/kinds.gen.ts'
import { validatingMatchConditions } from '#api/admissionregistration/v1/match-conditions.ts'
import { matchPolicies } from '#api/admissionregistration/v1/match-resources.ts'
import { defaultRules, validateRule } from '#api/admissionregistration/v1/rules.ts'
import type { V1MutatingWebhook, V1ValidatingWebhook, V1WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { fullyQualifiedName } from '#api/meta/formats.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { knowsReviewVersion, reviewVersions, validateReviewVersions } from '#api/meta/review-versions.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { validateWebhookService, validateWebhookUrl } from '#api/meta/webhook-client.ts'
import type { RuleContext } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

/** Mutating webhooks have the same. */
const sameConditions = equalityOf(ValidatingWebhookConfiguration).at('webhooks').each.at('matchConditions')

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

/** What an update may leave wrong because the stored webhooks already are, and what v1beta1 let pass. */
type Leniency = {
  sideEffects: readonly string[]
  mustKnowReviewVersion: boolean
  mustHaveUniqueNames: boolean
  invalidSelectorValues: boolean
  /** The expressions of match conditions that are stored. */
  stored: ReadonlySet<string>
  matchConditionsUnchanged: boolean
}

function leniency(webhooks: readonly Webhook[], prev: readonly Webhook[] | undefined, { requestVersion }: RuleContext): Leniency {
  const stored = prev ?? []
  const isOld = requestVersion === 'admissionregistration.k8s.io/v1beta1'
  const names = stored.map(({ name }) => name)
  return {
    sideEffects: !isOld && stored.every(({ sideEffects }) => sideEffectFree.includes(sideEffects)) ? sideEffectFree : allSideEffects,
    mustKnowReviewVersion: stored.every(
      ({ admissionReviewVersions: versions = [] }) => versions.length === 0 || knowsReviewVersion(versions),
    ),
    mustHaveUniqueNames: !isOld && new Set(names).size === names.length,
    invalidSelectorValues: stored.some((each) => isInvalid(each.namespaceSelector) || isInvalid(each.objectSelector)),
    stored: new Set(stored.flatMap(({ matchConditions = [] }) => matchConditions.map(({ expression }) => expression))),
    matchConditionsUnchanged:
      prev !== undefined &&
      webhooks.length === prev.length &&
      webhooks.every(({ matchConditions }, index) => sameConditions(matchConditions, prev[index]?.matchConditions)),
  }
}

function isInvalid(selector: V1LabelSelector | undefined): boolean {
  const scratch = new Check(selector)
  validateLabelSelector(scratch)
  return scratch.failed
}

/** `prev` is absent on create; `check` stands at the list. */
export function* validatingWebhooks(
  check: Check<readonly Webhook[] | undefined>,
  prev: readonly Webhook[] | undefined,
  context: RuleContext,
): Steps<void> {
  const webhooks = check.value ?? []
  const allowed = leniency(webhooks, prev, context)
  const names = new Set<string>()
  for (const item of check.with(webhooks).items()) {
    yield
    const { name = '' } = item.value
    validateWebhook(item, allowed)
    if (!allowed.matchConditionsUnchanged) {
      yield* validatingMatchConditions(item.at('matchConditions'), { hasParams: false, stored: allowed.stored })
    }
    validateReviewVersions(
      item.at('admissionReviewVersions').or([]),
      allowed.mustKnowReviewVersion,
      `must specify one of ${reviewVersions.join(', ')}`,
    )
    if (name !== '' && names.has(name) && allowed.mustHaveUniqueNames) item.at('name').or('').duplicate()
    names.add(name)
  }
}

function validateWebhook(check: Check<Webhook>, allowed: Leniency): void {
  const webhook = check.value
  const { failurePolicy, matchPolicy, timeoutSeconds, reinvocationPolicy } = webhook
  const sideEffects = webhook.sideEffects as string | undefined
  fullyQualifiedName(check.at('name').or(''))
  check.at('rules').each(validateRule)
  if (failurePolicy != null && !failurePolicies.includes(failurePolicy)) check.at('failurePolicy').notSupported(failurePolicies)
  if (matchPolicy != null && !matchPolicies.includes(matchPolicy)) check.at('matchPolicy').notSupported(matchPolicies)
  if (sideEffects == null) check.at('sideEffects').required(`must specify one of ${allowed.sideEffects.join(', ')}`)
  else if (!allowed.sideEffects.includes(sideEffects)) check.at('sideEffects').notSupported(allowed.sideEffects)
  if (timeoutSeconds != null && (timeoutSeconds > 30 || timeoutSeconds < 1)) {
    check.at('timeoutSeconds').invalid('the timeout value must be between 1 and 30 seconds')
  }
  const options = { allowInvalidValues: allowed.invalidSelectorValues }
  validateLabelSelector(check.at('namespaceSelector'), options)
  validateLabelSelector(check.at('objectSelector'), options)
  if (reinvocationPolicy != null && !reinvocationPolicies.includes(reinvocationPolicy)) {
    check.at('reinvocationPolicy').notSupported(reinvocationPolicies)
  }
  validateClientConfig(webhook, check.at('clientConfig'))
}

function validateClientConfig({ clientConfig }: Webhook, check: Check<V1WebhookClientConfig>): void {
  const { url, service } = clientConfig ?? {}
  if ((url == null) === (service == null)) check.required('exactly one of url or service is required')
  else if (url != null) validateWebhookUrl(check.at('url').with(url))
  else if (service != null) validateWebhookService(check.at('service').with(service))
}
