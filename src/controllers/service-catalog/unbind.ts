/** Has brokers forget bindings: those that are deleted, and those they may have made without saying so. */
import { defined } from '#base/defined.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { afterOperation, bindingStatusOf, notReady, reportBinding, takenBinding } from '#controllers/service-catalog/binding-status.ts'
import { askBroker, type OpenHttp, pollMs } from '#controllers/service-catalog/brokers.ts'
import { ClusterServiceBroker, ServiceBinding } from '#controllers/service-catalog/definitions.ts'
import { classOf } from '#controllers/service-catalog/instance-offer.ts'

/** Of a binding that is deleted. */
export async function unbind(binding: ServiceBinding, context: ReconcileContext, openHttp: OpenHttp): Promise<'pending' | undefined> {
  if (bindingStatusOf(binding).unbindStatus !== 'Required') return undefined
  if (!(await isForgotten(binding, context, openHttp))) return 'pending'
  context.events.normal(ServiceBinding, binding, 'UnboundSuccessfully', 'The binding was deleted successfully')
  return undefined
}

/** Returns the binding once the broker has nothing of it any more; undefined while that goes on. */
export async function mitigateBindingOrphan(
  binding: ServiceBinding,
  context: ReconcileContext,
  openHttp: OpenHttp,
): Promise<ServiceBinding | undefined> {
  if (!(await isForgotten(binding, context, openHttp))) return undefined
  const message = 'Orphan mitigation was completed successfully'
  context.events.normal(ServiceBinding, binding, 'OrphanMitigationSuccessful', message)
  return reportBinding(binding, { ...afterOperation(bindingStatusOf(binding)), orphanMitigationInProgress: false }, [], context)
}

async function isForgotten(binding: ServiceBinding, context: ReconcileContext, openHttp: OpenHttp): Promise<boolean> {
  const { cache, requeueAfter } = context
  const status = bindingStatusOf(binding)
  const taken = takenBinding(binding, context)
  if (taken === undefined) return true
  const broker = cache.get(ClusterServiceBroker, '', taken.broker)
  if (broker === undefined) throw new Error(`the broker ${taken.broker} is not there, so that nobody can be told to unbind`)
  const seams = { ...context, openHttp }
  if (status.asyncOpInProgress && status.currentOperation === 'Unbind') {
    const state = await askBroker(seams, broker, (each) => each.lastOperation(taken, status.lastOperation))
    if (state.state === 'succeeded' || state.state === 'gone') return true
    if (state.state === 'in progress') {
      requeueAfter(state.retryAfterMs ?? pollMs)
      return false
    }
    await reportBinding(binding, afterOperation(status), [], context)
    throw new Error(`unbind call failed: ${state.description ?? 'the broker does not say why'}`)
  }
  const mayBeAsync = classOf(taken, context)?.spec.bindingRetrievable ?? false
  const { isAsync, operation } = await askBroker(seams, broker, (each) => each.unbind(taken, { mayBeAsync }))
  if (!isAsync) return true
  const underWay = {
    ...afterOperation(status),
    asyncOpInProgress: true,
    currentOperation: 'Unbind' as const,
    ...defined({ lastOperation: operation }),
  }
  await reportBinding(binding, underWay, [notReady('Unbinding', 'The binding is being deleted asynchronously')], context)
  requeueAfter(pollMs)
  return false
}
