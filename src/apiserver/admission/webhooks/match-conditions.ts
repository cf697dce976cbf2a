/** Evaluates the match conditions of webhooks: loaded once one has any, with the engine that runs them. */

import type { AdmissionContext, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { askingFor, policyInput, whenAnswered } from '#apiserver/admission/policies/policy-input.ts'
import { PolicyScope } from '#apiserver/admission/policies/policy-scope.ts'
import type { ShownVersion } from '#apiserver/admission/shown-version.ts'
import type { Webhook } from '#apiserver/admission/webhooks/configured-webhooks.ts'
import { defined } from '#base/defined.ts'
import { atOnce } from '#base/steps.ts'

const compiled = new WeakMap<Webhook, PolicyScope>()

export async function matchConditionsHold(
  webhook: Webhook,
  request: AdmissionRequest,
  shown: ShownVersion,
  { cluster, authorizer }: Pick<AdmissionContext, 'cluster' | 'authorizer'>,
): Promise<boolean | string> {
  const { matchConditions = [], failurePolicy } = webhook
  const scope = compiled.getOrInsertComputed(webhook, () =>
    atOnce(PolicyScope.compiling({ matchConditions, ...defined({ failurePolicy }) })),
  )
  const [object, oldObject] = await Promise.all([shown.object(), shown.oldObject()])
  const seen = { ...request, object, oldObject }
  const input = policyInput({ request: seen, resource: shown.resource, params: undefined, cluster, ask: askingFor(request, authorizer) })
  return whenAnswered(() => scope.matches(input))
}
