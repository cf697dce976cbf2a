/** Has brokers take instances away: those that are deleted, and those they may have made without saying so. */
import { defined } from '#base/defined.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { askBroker, type OpenHttp, pollMs } from '#controllers/service-catalog/brokers.ts'
import { ClusterServiceBroker, ServiceBinding, ServiceInstance } from '#controllers/service-catalog/definitions.ts'
import { afterOperation, notReady, reportInstance, statusOf, takenOf } from '#controllers/service-catalog/instance-status.ts'

/** Of an instance that is deleted. */
export async function deprovision(
  instance: ServiceInstance,
  context: ReconcileContext,
  openHttp: OpenHttp,
): Promise<'pending' | undefined> {
  const { cache, events } = context
  const status = statusOf(instance)
  if (takenOf(instance) === undefined || status.deprovisionStatus !== 'Required') return undefined
  const bound = cache
    .list(ServiceBinding, instance.metadata.namespace)
    .filter(({ spec }) => spec.instanceRef.name === instance.metadata.name)
  if (bound.length > 0) {
    const words = 'All associated ServiceBindings must be removed before this ServiceInstance can be deleted'
    await reportInstance(instance, status, [notReady('DeprovisionBlockedByExistingCredentials', words)], context)
    return 'pending'
  }
  if (!(await isTakenAway(instance, context, openHttp))) return 'pending'
  events.normal(ServiceInstance, instance, 'DeprovisionedSuccessfully', 'The instance was deprovisioned successfully')
  return undefined
}

/** Returns the instance once the broker has nothing of it any more; undefined while that goes on. */
export async function mitigateOrphan(
  instance: ServiceInstance,
  context: ReconcileContext,
  openHttp: OpenHttp,
): Promise<ServiceInstance | undefined> {
  if (!(await isTakenAway(instance, context, openHttp))) return undefined
  const message = 'Orphan mitigation was completed successfully'
  const status = { ...afterOperation(statusOf(instance)), orphanMitigationInProgress: false }
  const over = { type: 'OrphanMitigation', status: 'False' as const, reason: 'OrphanMitigationSuccessful', message }
  const written = await reportInstance(instance, status, [over], context)
  context.events.normal(ServiceInstance, instance, 'OrphanMitigationSuccessful', message)
  return written
}

async function isTakenAway(instance: ServiceInstance, context: ReconcileContext, openHttp: OpenHttp): Promise<boolean> {
  const { cache, requeueAfter } = context
  const status = statusOf(instance)
  const taken = takenOf(instance)
  if (taken === undefined) return true
  const broker = cache.get(ClusterServiceBroker, '', taken.broker)
  if (broker === undefined) throw new Error(`the broker ${taken.broker} is not there, so that nobody can be told to deprovision`)
  const seams = { ...context, openHttp }
  if (status.asyncOpInProgress && status.currentOperation === 'Deprovision') {
    const state = await askBroker(seams, broker, (each) => each.lastOperation(taken, status.lastOperation))
    if (state.state === 'succeeded' || state.state === 'gone') return true
    if (state.state === 'in progress') {
      requeueAfter(state.retryAfterMs ?? pollMs)
      return false
    }
    // It is asked to begin anew the next time.
    await reportInstance(instance, afterOperation(status), [], context)
    throw new Error(`deprovision call failed: ${state.description ?? 'the broker does not say why'}`)
  }
  const { isAsync, operation } = await askBroker(seams, broker, (each) => each.deprovision(taken))
  if (!isAsync) return true
  const underWay = {
    ...afterOperation(status),
    asyncOpInProgress: true,
    currentOperation: 'Deprovision' as const,
    ...defined({ lastOperation: operation }),
  }
  const words = 'The instance is being deprovisioned asynchronously'
  await reportInstance(instance, underWay, [notReady('Deprovisioning', words)], context)
  requeueAfter(pollMs)
  return false
}
