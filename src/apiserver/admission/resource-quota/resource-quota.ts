import { Pod } from '#api/core/v1/kinds.gen.ts'
import { objectCount, type QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import { isUncounted, quotaEvaluators } from '#api/core/v1/quota/evaluators.ts'
import { groupResourceText } from '#api/meta/gvk.ts'
import { DeviceClass, ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { checkRequest } from '#apiserver/admission/resource-quota/check-request.ts'
import type { QuotaConfiguration } from '#apiserver/admission/resource-quota/limited-resources.ts'
import { QuotaLedger } from '#apiserver/admission/resource-quota/quota-ledger.ts'

/** Nothing is written that would use more of a namespace than its quotas allow. */
export function resourceQuota({ cluster, clock, isEnabled, configuration }: AdmissionContext): AdmissionPlugin {
  const { limitedResources = [] } = (configuration ?? {}) as QuotaConfiguration
  const ledger = new QuotaLedger(cluster)
  const known = quotaEvaluators({
    nowMs: () => clock.now(),
    isEnabled,
    deviceClasses: () => cluster.list(DeviceClass),
    pod: (namespace, name) => cluster.get(Pod, namespace, name),
    resourceClaims: (namespace) => cluster.list(ResourceClaim, namespace),
  })
  const evaluators = new Map<string, QuotaEvaluator>(known.map((evaluator) => [groupResourceText(evaluator), evaluator]))

  const evaluatorOf = ({ group, plural }: ResourceDefinition): QuotaEvaluator | undefined => {
    const resource = { group, resource: plural }
    const name = groupResourceText(resource)
    let evaluator = evaluators.get(name)
    if (evaluator === undefined && !isUncounted(resource)) {
      evaluator = objectCount(resource)
      evaluators.set(name, evaluator)
    }
    return evaluator
  }
  return {
    name: 'ResourceQuota',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      const { namespace, definition, isDryRun } = request
      if (namespace === '' || definition.kind === 'Namespace') return undefined
      if (limitedResources.length === 0 && !ledger.hasQuotas(namespace)) return undefined
      const evaluator = evaluatorOf(definition)
      if (evaluator === undefined || !evaluator.handles(request)) return undefined
      return ledger.charge(namespace, { isDryRun, check: (states) => checkRequest(request, evaluator, states, limitedResources) })
    },
  }
}
