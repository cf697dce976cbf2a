import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { ClusterServiceClass, ClusterServicePlan, type ServiceInstance } from '#controllers/service-catalog/definitions.ts'

export type Offer = { serviceId: string; planId: string; broker: string }

/** The class and the plan that are asked for, by name or by what the broker calls them; or why there are none. */
export function offerOf(
  { spec }: ServiceInstance,
  { cache }: Pick<ReconcileContext, 'cache'>,
): Offer | { reason: string; message: string } {
  const { clusterServiceClassExternalName: className, clusterServiceClassExternalID: classId } = spec
  const { clusterServicePlanExternalName: planName, clusterServicePlanExternalID: planId } = spec
  const offered = cache
    .list(ClusterServiceClass)
    .find((each) => (classId === undefined ? each.spec.externalName === className : each.spec.externalID === classId))
  if (offered === undefined) {
    const message = `The instance references a ClusterServiceClass that does not exist: ${classId ?? className}`
    return { reason: 'ReferencesNonexistentServiceClass', message }
  }
  const plans = cache.list(ClusterServicePlan).filter((each) => each.spec.clusterServiceClassRef.name === offered.metadata.name)
  const isAny = planName === undefined && planId === undefined
  const plan =
    isAny && plans.length === 1
      ? plans[0]
      : plans.find(({ spec: each }) => (planId === undefined ? each.externalName === planName : each.externalID === planId))
  if (plan === undefined) {
    const message = `The instance references a ClusterServicePlan that does not exist: ${planId ?? planName}`
    return { reason: 'ReferencesNonexistentServicePlan', message }
  }
  return { serviceId: offered.spec.externalID, planId: plan.spec.externalID, broker: offered.spec.clusterServiceBrokerName }
}

/** The class that an instance or a binding is of. */
export function classOf(
  { serviceId, broker }: { serviceId: string; broker: string },
  { cache }: Pick<ReconcileContext, 'cache'>,
): ClusterServiceClass | undefined {
  return cache.list(ClusterServiceClass).find(({ spec }) => spec.externalID === serviceId && spec.clusterServiceBrokerName === broker)
}
