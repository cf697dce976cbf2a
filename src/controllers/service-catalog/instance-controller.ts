/** Has brokers make what users ask for, and take it away again. */

import { isConditionTrue } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { withFinalizer } from '#controllers/kit/finalizer.ts'
import { setCondition } from '#controllers/kit/set-condition.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { BrokerRefusal, type Taken } from '#controllers/service-catalog/broker-client.ts'
import { catalogFinalizer } from '#controllers/service-catalog/broker-controller.ts'
import { askBroker, type OpenHttp, parametersOf } from '#controllers/service-catalog/brokers.ts'
import {
  ClusterServiceBroker,
  ClusterServiceClass,
  ClusterServicePlan,
  ServiceBinding,
  ServiceInstance,
} from '#controllers/service-catalog/definitions.ts'

const pollMs = 5000
type Status = NonNullable<ServiceInstance['status']>

export function instanceController(openHttp: OpenHttp): Controller {
  return defineController({
    name: 'service-catalog-instances',
    eventComponent: 'service-catalog-controller-manager',
    for: ServiceInstance,
    reads: [ClusterServiceBroker],
    // Those that asked for what was not on offer may now have it; and one may go once nobody is bound to it.
    watches: [
      on(ClusterServicePlan, (_plan, cache) =>
        cache
          .list(ServiceInstance)
          .filter((each) => !isProvisioned(each))
          .map(keyOf),
      ),
      on(ClusterServiceClass, (_class, cache) =>
        cache
          .list(ServiceInstance)
          .filter((each) => !isProvisioned(each))
          .map(keyOf),
      ),
      on(ServiceBinding, ({ metadata, spec }) => [`${metadata.namespace}/${spec.instanceRef.name}`]),
    ],
    reconcile: withFinalizer({
      for: ServiceInstance,
      name: catalogFinalizer,
      reconcile: (instance, context) => provision(instance, context, openHttp),
      cleanup: (instance, context) => deprovision(instance, context, openHttp),
    }),
  })
}

const isProvisioned = ({ status }: ServiceInstance): boolean => status?.provisionStatus === 'Provisioned'

/** What the broker knows the instance by. Undefined while it was not asked for it. */
export function takenOf(instance: ServiceInstance): (Taken & { broker: string }) | undefined {
  const { instanceId, serviceId, planId, broker } = instance.status?.externalProperties ?? {}
  if (instanceId === undefined || serviceId === undefined || planId === undefined || broker === undefined) return undefined
  return { instanceId, serviceId, planId, broker }
}

const noStatus: Status = { asyncOpInProgress: false, provisionStatus: 'NotProvisioned', deprovisionStatus: 'NotRequired' }

async function provision(instance: ServiceInstance, context: ReconcileContext, openHttp: OpenHttp): Promise<void> {
  const { client, clock, cache, events, requeueAfter } = context
  const { generation = 0, namespace = '', uid = '' } = instance.metadata
  const hasFailed = isConditionTrue(instance.status?.conditions, 'Failed') && instance.status?.reconciledGeneration === generation
  if (isProvisioned(instance) || hasFailed) return
  const offer = offerOf(instance, context)
  if ('reason' in offer) {
    const isKnown = instance.status?.conditions?.some(({ reason }) => reason === offer.reason)
    await report(instance, { ...noStatus, ...instance.status }, notReady(offer.reason, offer.message), context)
    if (!isKnown) events.warning(ServiceInstance, instance, offer.reason, offer.message)
    return
  }
  const externalProperties = { ...offer, instanceId: instance.spec.externalID ?? uid }
  const { currentOperation, lastOperation, ...before } = { ...noStatus, ...instance.status }
  const over: Status = {
    ...before,
    externalProperties,
    asyncOpInProgress: false,
    deprovisionStatus: 'Required',
    reconciledGeneration: generation,
  }
  const broker = cache.get(ClusterServiceBroker, '', offer.broker)
  if (broker === undefined) throw new Error(`the class is offered by the broker ${offer.broker}, which is not there`)
  const fail = async (message: string, current: ServiceInstance) => {
    const conditions = setCondition(over.conditions, { type: 'Failed', status: 'True', reason: 'ProvisionCallFailed', message }, clock)
    await report(current, { ...over, conditions }, notReady('ProvisionCallFailed', message), context)
    events.warning(ServiceInstance, instance, 'ProvisionCallFailed', message)
  }
  const succeed = async (current: ServiceInstance, dashboardURL = over.dashboardURL) => {
    const done: Status = { ...over, provisionStatus: 'Provisioned', ...(dashboardURL === undefined ? {} : { dashboardURL }) }
    const message = 'The instance was provisioned successfully'
    await report(current, done, { type: 'Ready', status: 'True', reason: 'ProvisionedSuccessfully', message }, context)
    events.normal(ServiceInstance, instance, 'ProvisionedSuccessfully', message)
  }
  if (before.asyncOpInProgress && currentOperation === 'Provision') {
    const state = await askBroker(openHttp, client, broker, (each) => each.lastOperation(externalProperties, lastOperation))
    if (state.state === 'in progress') requeueAfter(state.retryAfterMs ?? pollMs)
    else if (state.state === 'succeeded') await succeed(instance)
    else await fail(`Provision call failed: ${state.description ?? 'the broker does not say why'}`, instance)
    return
  }
  // Written before the broker is asked: whatever becomes of the answer, it is asked to take the instance away in the end.
  const underWay: Status = {
    ...{ ...before, externalProperties, currentOperation: 'Provision', deprovisionStatus: 'Required' },
    operationStartTime: before.operationStartTime ?? formatTime(clock.now()),
  }
  const started = await writeStatus(client, ServiceInstance, instance, underWay)
  try {
    const parameters = await parametersOf(client, instance)
    const details = { namespace, ...(parameters ? { parameters } : {}) }
    const asking = askBroker(openHttp, client, broker, (each) => each.provision(externalProperties, details))
    const { isAsync, operation, dashboardUrl } = await asking.catch(async (error: unknown) => {
      if (error instanceof BrokerRefusal) throw error
      const words = `The provision call failed and will be retried: ${error instanceof Error ? error.message : String(error)}`
      await report(started, underWay, notReady('ErrorCallingProvision', words), context)
      throw error
    })
    if (!isAsync) return await succeed(started, dashboardUrl)
    const told = {
      ...(operation === undefined ? {} : { lastOperation: operation }),
      ...(dashboardUrl ? { dashboardURL: dashboardUrl } : {}),
    }
    const words = 'The instance is being provisioned asynchronously'
    await report(started, { ...underWay, asyncOpInProgress: true, ...told }, notReady('Provisioning', words), context)
    requeueAfter(pollMs)
  } catch (error) {
    if (!(error instanceof BrokerRefusal)) throw error
    await fail(`Provision call failed: ${error.message}`, started)
  }
}

type ReadyCondition = { type: 'Ready'; status: 'True' | 'False'; reason: string; message: string }
const notReady = (reason: string, message: string): ReadyCondition => ({ type: 'Ready', status: 'False', reason, message })

function report(
  instance: ServiceInstance,
  status: Status,
  condition: ReadyCondition,
  { client, clock }: ReconcileContext,
): Promise<ServiceInstance> {
  return writeStatus(client, ServiceInstance, instance, { ...status, conditions: setCondition(status.conditions, condition, clock) })
}

/** The class and the plan that are asked for, by name or by what the broker calls them. */
function offerOf(
  { spec }: ServiceInstance,
  { cache }: ReconcileContext,
): { serviceId: string; planId: string; broker: string } | { reason: string; message: string } {
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

async function deprovision(instance: ServiceInstance, context: ReconcileContext, openHttp: OpenHttp): Promise<'pending' | undefined> {
  const { client, cache, events, requeueAfter } = context
  const { status } = instance
  const taken = takenOf(instance)
  if (taken === undefined || status?.deprovisionStatus !== 'Required') return undefined
  const bound = cache
    .list(ServiceBinding, instance.metadata.namespace)
    .filter(({ spec }) => spec.instanceRef.name === instance.metadata.name)
  if (bound.length > 0) {
    const words = 'All associated ServiceBindings must be removed before this ServiceInstance can be deleted'
    await report(instance, status, notReady('DeprovisionBlockedByExistingCredentials', words), context)
    return 'pending'
  }
  const broker = cache.get(ClusterServiceBroker, '', taken.broker)
  if (broker === undefined) throw new Error(`the broker ${taken.broker} is not there, so that nobody can be told to deprovision`)
  if (status.asyncOpInProgress && status.currentOperation === 'Deprovision') {
    const state = await askBroker(openHttp, client, broker, (each) => each.lastOperation(taken, status.lastOperation))
    if (state.state === 'failed') throw new Error(`deprovision call failed: ${state.description ?? 'the broker does not say why'}`)
    if (state.state === 'in progress') {
      requeueAfter(state.retryAfterMs ?? pollMs)
      return 'pending'
    }
  } else {
    const { isAsync, operation } = await askBroker(openHttp, client, broker, (each) => each.deprovision(taken))
    if (isAsync) {
      const { lastOperation: _, ...rest } = status
      const told = operation === undefined ? {} : { lastOperation: operation }
      const underWay: Status = { ...rest, asyncOpInProgress: true, currentOperation: 'Deprovision', ...told }
      await report(instance, underWay, notReady('Deprovisioning', 'The instance is being deprovisioned asynchronously'), context)
      requeueAfter(pollMs)
      return 'pending'
    }
  }
  events.normal(ServiceInstance, instance, 'DeprovisionedSuccessfully', 'The instance was deprovisioned successfully')
  return undefined
}
