/** Has brokers bind users to instances, and puts what they answer into a secret. */

import { Secret } from '#api/core/v1/kinds.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { defined } from '#base/defined.ts'
import { NotControlledError, ownedObjects } from '#controllers/kit/owned-objects.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import {
  afterOperation,
  type BindingStatus,
  bindingStatusOf,
  notReady,
  reportBinding,
  takenBinding,
} from '#controllers/service-catalog/binding-status.ts'
import { BrokerRefusal, BrokerTrouble, type Credentials } from '#controllers/service-catalog/broker-client.ts'
import { askBroker, type OpenHttp, parametersOf, pollMs } from '#controllers/service-catalog/brokers.ts'
import { ClusterServiceBroker, ServiceBinding, ServiceInstance } from '#controllers/service-catalog/definitions.ts'
import { classOf } from '#controllers/service-catalog/instance-offer.ts'
import { takenOf } from '#controllers/service-catalog/instance-status.ts'
import { mitigateBindingOrphan } from '#controllers/service-catalog/unbind.ts'

export async function bind(binding: ServiceBinding, context: ReconcileContext, openHttp: OpenHttp): Promise<void> {
  const current = binding.status?.orphanMitigationInProgress ? await mitigateBindingOrphan(binding, context, openHttp) : binding
  if (current === undefined) return
  const { namespace = '', generation } = current.metadata
  const status = bindingStatusOf(current)
  if (isConditionTrue(status.conditions, 'Failed') && status.reconciledGeneration === generation) return
  const isThere = context.cache.get(Secret, namespace, secretNameOf(current)) !== undefined
  if (isThere && isConditionTrue(status.conditions, 'Ready')) return
  if (status.asyncOpInProgress && status.currentOperation === 'Bind') await poll(current, status, context, openHttp)
  else await begin(current, status, context, openHttp)
}

const secretNameOf = ({ spec, metadata }: ServiceBinding): string => spec.secretName ?? metadata.name ?? ''

async function begin(binding: ServiceBinding, status: BindingStatus, context: ReconcileContext, openHttp: OpenHttp): Promise<void> {
  const { client, cache, requeueAfter } = context
  const { namespace = '', uid = '' } = binding.metadata
  const { name } = binding.spec.instanceRef
  const instance = cache.get(ServiceInstance, namespace, name)
  if (instance === undefined) {
    const message = `References a non-existent ServiceInstance "${namespace}/${name}"`
    await reportBinding(binding, status, [notReady('ReferencesNonexistentInstance', message)], context)
    return
  }
  const taken = takenOf(instance)
  const broker = taken && cache.get(ClusterServiceBroker, '', taken.broker)
  if (taken === undefined || broker === undefined || !isConditionTrue(instance.status?.conditions, 'Ready')) {
    const message = `The referenced ServiceInstance "${namespace}/${name}" is not ready`
    await reportBinding(binding, status, [notReady('ErrorInstanceNotReady', message)], context)
    return
  }
  const externalProperties = { ...taken, bindingId: binding.spec.externalID ?? uid }
  // Written before the broker is asked: whatever becomes of the answer, it is asked to forget the binding in the end.
  const underWay: BindingStatus = { ...status, externalProperties, currentOperation: 'Bind', unbindStatus: 'Required' }
  const started = await reportBinding(binding, underWay, [], context)
  const parameters = await parametersOf(client, binding)
  const details = { namespace, ...defined({ parameters }) }
  const mayBeAsync = classOf(taken, context)?.spec.bindingRetrievable ?? false
  const asking = askBroker({ ...context, openHttp }, broker, (each) => each.bind(externalProperties, details, { mayBeAsync }))
  const answer = await asking.catch(async (error: unknown) => {
    if (error instanceof BrokerRefusal) {
      await fail(started, underWay, error.message, context)
      return undefined
    }
    const isOrphan = error instanceof BrokerTrouble && error.isAmbiguous
    const words = `The bind call failed and will be retried: ${error instanceof Error ? error.message : String(error)}`
    await reportBinding(started, { ...underWay, orphanMitigationInProgress: isOrphan }, [notReady('ErrorCallingBind', words)], context)
    throw error
  })
  if (answer === undefined) return
  const { isAsync, operation, credentials } = answer
  if (!isAsync) return inject(started, underWay, credentials, context)
  const running = notReady('Binding', 'The binding is being created asynchronously')
  await reportBinding(started, { ...underWay, asyncOpInProgress: true, ...defined({ lastOperation: operation }) }, [running], context)
  requeueAfter(pollMs)
}

async function poll(binding: ServiceBinding, status: BindingStatus, context: ReconcileContext, openHttp: OpenHttp): Promise<void> {
  const taken = takenBinding(binding, context)
  const broker = taken && context.cache.get(ClusterServiceBroker, '', taken.broker)
  if (taken === undefined || broker === undefined) throw new Error(`the broker ${taken?.broker} is not there, so that nobody can be asked`)
  const seams = { ...context, openHttp }
  const state = await askBroker(seams, broker, (each) => each.lastOperation(taken, status.lastOperation))
  if (state.state === 'in progress') return context.requeueAfter(state.retryAfterMs ?? pollMs)
  if (state.state === 'succeeded') {
    return inject(binding, status, await askBroker(seams, broker, (each) => each.credentials(taken)), context)
  }
  const why = state.state === 'gone' ? 'the broker does not know of it' : (state.description ?? 'the broker does not say why')
  // What has failed half-way may have left something behind.
  await fail(binding, { ...status, orphanMitigationInProgress: true }, why, context)
}

async function inject(binding: ServiceBinding, status: BindingStatus, credentials: Credentials, context: ReconcileContext): Promise<void> {
  const { generation } = binding.metadata
  const owned = ownedObjects({ owner: binding, kind: ServiceBinding, context, fieldManager: 'service-catalog' })
  try {
    await owned.apply(Secret, { metadata: { name: secretNameOf(binding) }, data: secretData(credentials) })
  } catch (error) {
    if (error instanceof NotControlledError) {
      await reportBinding(binding, status, [notReady('ErrorInjectingBindResult', error.message)], context)
    }
    throw error
  }
  const done = { ...afterOperation(status), ...defined({ reconciledGeneration: generation }) }
  const conditions = done.conditions?.filter(({ type }) => type !== 'Failed') ?? []
  const ready = { type: 'Ready', status: 'True' as const, reason: 'InjectedBindResult', message: 'Injected bind result' }
  await reportBinding(binding, { ...done, conditions }, [ready], context)
  context.events.normal(ServiceBinding, binding, 'InjectedBindResult', 'Injected bind result')
}

async function fail(binding: ServiceBinding, status: BindingStatus, why: string, context: ReconcileContext): Promise<void> {
  const { generation } = binding.metadata
  const message = `Bind call failed: ${why}`
  const over = { ...afterOperation(status), ...defined({ reconciledGeneration: generation }) }
  const failed = { type: 'Failed', status: 'True' as const, reason: 'BindCallFailed', message }
  await reportBinding(binding, over, [failed, notReady('BindCallFailed', message)], context)
  context.events.warning(ServiceBinding, binding, 'BindCallFailed', message)
}

/** Texts as they are, anything else as JSON. */
function secretData(credentials: Credentials): Record<string, string> {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return Object.fromEntries(Object.entries(credentials).map(([key, value]) => [key, Buffer.from(text(value)).toString('base64')]))
}
