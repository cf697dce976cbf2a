/** What the status of a binding says, and how it is written. */
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import { setCondition } from '#controllers/kit/set-condition.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { TakenBinding } from '#controllers/service-catalog/broker-client.ts'
import { ServiceBinding, ServiceInstance } from '#controllers/service-catalog/definitions.ts'
import { takenOf } from '#controllers/service-catalog/instance-status.ts'

export type BindingStatus = NonNullable<ServiceBinding['status']>

const noStatus: BindingStatus = { asyncOpInProgress: false, orphanMitigationInProgress: false, unbindStatus: 'NotRequired' }

export const bindingStatusOf = ({ status }: ServiceBinding): BindingStatus => ({ ...noStatus, ...status })

/** What the broker knows the binding by. Undefined while it was not asked for it. */
export function takenBinding(
  binding: ServiceBinding,
  { cache }: Pick<ReconcileContext, 'cache'>,
): (TakenBinding & { broker: string }) | undefined {
  const { instanceId, serviceId, planId, bindingId, broker } = binding.status?.externalProperties ?? {}
  if (!instanceId || !serviceId || !planId || !bindingId || !broker) return undefined
  const instance = cache.get(ServiceInstance, binding.metadata.namespace ?? '', binding.spec.instanceRef.name)
  const current = instance && takenOf(instance)
  // Its plan may be another one by now.
  return { instanceId, serviceId, bindingId, broker, planId: current?.instanceId === instanceId ? current.planId : planId }
}

/** Without what an operation leaves behind while it runs. */
export function afterOperation(status: BindingStatus): BindingStatus {
  const { currentOperation: _, lastOperation: _1, ...rest } = status
  return { ...rest, asyncOpInProgress: false }
}

type Reported = Pick<V1Condition, 'type' | 'status' | 'reason' | 'message'>

export const notReady = (reason: string, message: string): Reported => ({ type: 'Ready', status: 'False', reason, message })

export function reportBinding(
  binding: ServiceBinding,
  status: BindingStatus,
  conditions: readonly Reported[],
  { client, clock }: Pick<ReconcileContext, 'client' | 'clock'>,
): Promise<ServiceBinding> {
  const next = conditions.reduce((all, each) => setCondition(all, each, clock), [...(status.conditions ?? [])])
  return writeStatus(client, ServiceBinding, binding, { ...status, conditions: next })
}
