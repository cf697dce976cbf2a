/** What the status of an instance says, and how it is written. */
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import { setCondition } from '#controllers/kit/set-condition.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Taken } from '#controllers/service-catalog/broker-client.ts'
import { ServiceInstance } from '#controllers/service-catalog/definitions.ts'

export type InstanceStatus = NonNullable<ServiceInstance['status']>

const noStatus: InstanceStatus = {
  ...{ asyncOpInProgress: false, orphanMitigationInProgress: false },
  ...{ provisionStatus: 'NotProvisioned', deprovisionStatus: 'NotRequired' },
}

export const statusOf = ({ status }: ServiceInstance): InstanceStatus => ({ ...noStatus, ...status })

export const isProvisioned = ({ status }: ServiceInstance): boolean => status?.provisionStatus === 'Provisioned'

/** What the broker knows the instance by. Undefined while it was not asked for it. */
export function takenOf({ status }: ServiceInstance): (Taken & { broker: string }) | undefined {
  const { instanceId, serviceId, planId, broker } = status?.externalProperties ?? {}
  if (instanceId === undefined || serviceId === undefined || planId === undefined || broker === undefined) return undefined
  return { instanceId, serviceId, planId, broker }
}

/** Without what an operation leaves behind while it runs. */
export function afterOperation(status: InstanceStatus): InstanceStatus {
  const { currentOperation: _, lastOperation: _1, operationStartTime: _2, inProgressProperties: _3, ...rest } = status
  return { ...rest, asyncOpInProgress: false }
}

type Reported = Pick<V1Condition, 'type' | 'status' | 'reason' | 'message'>

export const ready = (reason: string, message: string): Reported => ({ type: 'Ready', status: 'True', reason, message })
export const notReady = (reason: string, message: string): Reported => ({ type: 'Ready', status: 'False', reason, message })
/** It is not tried again before the instance is changed. */
export const failed = (reason: string, message: string): Reported[] => [
  { type: 'Failed', status: 'True', reason, message },
  notReady(reason, message),
]

export function reportInstance(
  instance: ServiceInstance,
  status: InstanceStatus,
  conditions: readonly Reported[],
  { client, clock }: Pick<ReconcileContext, 'client' | 'clock'>,
): Promise<ServiceInstance> {
  const isReady = conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  // What went wrong before is over.
  const kept = isReady ? status.conditions?.filter(({ type }) => type !== 'Failed' && type !== 'OrphanMitigation') : status.conditions
  const next = conditions.reduce((all, each) => setCondition(all, each, clock), kept ?? [])
  return writeStatus(client, ServiceInstance, instance, { ...status, conditions: next })
}
