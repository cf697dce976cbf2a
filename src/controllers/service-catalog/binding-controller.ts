/** Binds users to instances: what the broker says they need is put into a secret beside them. */
import { Secret } from '#api/core/v1/kinds.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { withFinalizer } from '#controllers/kit/finalizer.ts'
import { NotControlledError, ownedObjects } from '#controllers/kit/owned-objects.ts'
import { setCondition } from '#controllers/kit/set-condition.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { BrokerRefusal } from '#controllers/service-catalog/broker-client.ts'
import { catalogFinalizer } from '#controllers/service-catalog/broker-controller.ts'
import { askBroker, type OpenHttp, parametersOf } from '#controllers/service-catalog/brokers.ts'
import { ClusterServiceBroker, ServiceBinding, ServiceInstance } from '#controllers/service-catalog/definitions.ts'
import { takenOf } from '#controllers/service-catalog/instance-controller.ts'

type Status = NonNullable<ServiceBinding['status']>

export function bindingController(openHttp: OpenHttp): Controller {
  return defineController({
    name: 'service-catalog-bindings',
    eventComponent: 'service-catalog-controller-manager',
    for: ServiceBinding,
    owns: [Secret],
    reads: [ClusterServiceBroker],
    watches: [
      on(ServiceInstance, ({ metadata }, cache) =>
        cache
          .list(ServiceBinding, metadata.namespace)
          .filter(({ spec }) => spec.instanceRef.name === metadata.name)
          .map(keyOf),
      ),
    ],
    reconcile: withFinalizer({
      for: ServiceBinding,
      name: catalogFinalizer,
      reconcile: (binding, context) => bind(binding, context, openHttp),
      cleanup: (binding, context) => unbind(binding, context, openHttp),
    }),
  })
}

const noStatus: Status = { unbindStatus: 'NotRequired' }

async function bind(binding: ServiceBinding, context: ReconcileContext, openHttp: OpenHttp): Promise<void> {
  const { client, clock, cache, events } = context
  const { namespace = '', name = '', generation } = binding.metadata
  const hasFailed = isConditionTrue(binding.status?.conditions, 'Failed') && binding.status?.reconciledGeneration === generation
  const secretName = binding.spec.secretName ?? name
  const isThere = cache.get(Secret, namespace, secretName) !== undefined
  if (hasFailed || (isThere && isConditionTrue(binding.status?.conditions, 'Ready'))) return
  const status: Status = { ...noStatus, ...binding.status }
  const reconciled = generation === undefined ? {} : { reconciledGeneration: generation }
  const report = (is: 'True' | 'False', reason: string, message: string, changed: Partial<Status> = {}, current = binding) =>
    writeStatus(client, ServiceBinding, current, {
      ...status,
      ...changed,
      conditions: setCondition(changed.conditions ?? status.conditions, { type: 'Ready', status: is, reason, message }, clock),
    })
  const instance = cache.get(ServiceInstance, namespace, binding.spec.instanceRef.name)
  if (instance === undefined) {
    const message = `References a non-existent ServiceInstance "${namespace}/${binding.spec.instanceRef.name}"`
    await report('False', 'ReferencesNonexistentInstance', message)
    return
  }
  const taken = takenOf(instance)
  const broker = taken && cache.get(ClusterServiceBroker, '', taken.broker)
  if (taken === undefined || broker === undefined || !isConditionTrue(instance.status?.conditions, 'Ready')) {
    await report('False', 'ErrorInstanceNotReady', `The referenced ServiceInstance "${namespace}/${instance.metadata.name}" is not ready`)
    return
  }
  const bindingId = binding.spec.externalID ?? binding.metadata.uid ?? ''
  const externalProperties = { ...taken, bindingId }
  // Written before the broker is asked: whatever becomes of the answer, it is asked to forget the binding in the end.
  const started = await writeStatus(client, ServiceBinding, binding, { ...status, externalProperties, unbindStatus: 'Required' })
  Object.assign(status, started.status)
  try {
    const parameters = await parametersOf(client, binding)
    const details = { namespace, ...(parameters ? { parameters } : {}) }
    const asking = askBroker(openHttp, client, broker, (each) => each.bind({ ...taken, bindingId }, details))
    const credentials = await asking.catch(async (error: unknown) => {
      if (error instanceof BrokerRefusal) throw error
      const words = `The bind call failed and will be retried: ${error instanceof Error ? error.message : String(error)}`
      await report('False', 'ErrorCallingBind', words, {}, started)
      throw error
    })
    const owned = ownedObjects({ owner: binding, kind: ServiceBinding, context, fieldManager: 'service-catalog' })
    await owned.apply(Secret, { metadata: { name: secretName }, data: secretData(credentials) })
    await report('True', 'InjectedBindResult', 'Injected bind result', reconciled, started)
    events.normal(ServiceBinding, binding, 'InjectedBindResult', 'Injected bind result')
  } catch (error) {
    if (error instanceof NotControlledError) {
      await report('False', 'ErrorInjectingBindResult', error.message, {}, started)
      throw error
    }
    if (!(error instanceof BrokerRefusal)) throw error
    const message = `Bind call failed: ${error.message}`
    const conditions = setCondition(status.conditions, { type: 'Failed', status: 'True', reason: 'BindCallFailed', message }, clock)
    await report('False', 'BindCallFailed', message, { conditions, ...reconciled }, started)
    events.warning(ServiceBinding, binding, 'BindCallFailed', message)
  }
}

/** Texts as they are, anything else as JSON. */
function secretData(credentials: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return Object.fromEntries(Object.entries(credentials).map(([key, value]) => [key, Buffer.from(text(value)).toString('base64')]))
}

async function unbind(
  binding: ServiceBinding,
  { client, cache, events }: ReconcileContext,
  openHttp: OpenHttp,
): Promise<'pending' | undefined> {
  const { instanceId, serviceId, planId, bindingId, broker: brokerName } = binding.status?.externalProperties ?? {}
  if (binding.status?.unbindStatus !== 'Required' || !instanceId || !serviceId || !planId || !bindingId) return undefined
  const broker = cache.get(ClusterServiceBroker, '', brokerName ?? '')
  if (broker === undefined) throw new Error(`the broker ${brokerName} is not there, so that nobody can be told to unbind`)
  await askBroker(openHttp, client, broker, (each) => each.unbind({ instanceId, serviceId, planId, bindingId }))
  events.normal(ServiceBinding, binding, 'UnboundSuccessfully', 'The binding was deleted successfully')
  return undefined
}
