/** Has brokers make instances, and change them. */

import { createHash } from 'node:crypto'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'
import { sortedJson } from '#api/structural/sorted-json.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { type BrokerClient, BrokerRefusal, BrokerTrouble, type Operation, type Taken } from '#controllers/service-catalog/broker-client.ts'
import { type AskingSeams, askBroker, type OpenHttp, parametersOf, pollMs } from '#controllers/service-catalog/brokers.ts'
import { ClusterServiceBroker, ServiceInstance } from '#controllers/service-catalog/definitions.ts'
import { classOf, type Offer, offerOf } from '#controllers/service-catalog/instance-offer.ts'
import {
  afterOperation,
  failed,
  type InstanceStatus,
  isProvisioned,
  notReady,
  ready,
  reportInstance,
  statusOf,
  takenOf,
} from '#controllers/service-catalog/instance-status.ts'

/** The words of an operation, as users and their tools look for them. */
type Words = {
  operation: 'Provision' | 'Update'
  done: [string, string]
  running: [string, string]
  trouble: string
  failed: string
  call: string
}

const provisioning: Words = {
  operation: 'Provision',
  done: ['ProvisionedSuccessfully', 'The instance was provisioned successfully'],
  running: ['Provisioning', 'The instance is being provisioned asynchronously'],
  ...{ trouble: 'ErrorCallingProvision', failed: 'ProvisionCallFailed', call: 'provision' },
}
const updating: Words = {
  operation: 'Update',
  done: ['InstanceUpdatedSuccessfully', 'The instance was updated successfully'],
  running: ['UpdatingInstance', 'The instance is being updated asynchronously'],
  ...{ trouble: 'ErrorCallingUpdateInstance', failed: 'UpdateInstanceCallFailed', call: 'update' },
}
const orphanReason = 'StartingInstanceOrphanMitigation'
const orphanText =
  'The instance provision call failed with an ambiguous error; attempting to deprovision the instance in order to mitigate an orphaned resource'

/** Brings the instance one step on: asks the broker, or asks how far it is. */
export async function provisionOrUpdate(instance: ServiceInstance, context: ReconcileContext, openHttp: OpenHttp): Promise<void> {
  const { generation = 0, uid = '' } = instance.metadata
  const status = statusOf(instance)
  const words = isProvisioned(instance) ? updating : provisioning
  const run = { instance, context, words, seams: { ...context, openHttp } }
  if (status.asyncOpInProgress && status.currentOperation === words.operation) return poll(run)
  const isSettled = isProvisioned(instance) || isConditionTrue(status.conditions, 'Failed')
  if (isSettled && status.reconciledGeneration === generation) return
  const offer = offerOf(instance, context)
  if ('reason' in offer) {
    const isKnown = status.conditions?.some(({ reason }) => reason === offer.reason)
    await reportInstance(instance, status, [notReady(offer.reason, offer.message)], context)
    if (!isKnown) context.events.warning(ServiceInstance, instance, offer.reason, offer.message)
    return
  }
  const before = isProvisioned(instance) ? takenOf(instance) : undefined
  const next = { ...offer, instanceId: before?.instanceId ?? instance.spec.externalID ?? uid }
  if (before === undefined) return ask(run, next, (broker, details) => broker.provision(next, details))
  const refused = whyNot(before, next, context)
  if (refused !== undefined) return fail({ ...run, generation }, instance, afterOperation(status), refused)
  return ask(run, next, (broker, details) => broker.update(next, before, details))
}

type Run = { instance: ServiceInstance; context: ReconcileContext; words: Words; seams: AskingSeams }
type Details = { namespace: string; parameters?: object }

/** A class stays; its plan may be changed where the class says so. */
function whyNot(before: Taken & Offer, next: Taken & Offer, context: ReconcileContext): string | undefined {
  if (before.serviceId !== next.serviceId || before.broker !== next.broker) return 'The class of an instance cannot be changed.'
  if (before.planId === next.planId) return undefined
  const offered = classOf(before, context)
  return offered?.spec.planUpdatable
    ? undefined
    : `The Service Class ${offered?.spec.externalName ?? before.serviceId} does not allow plan changes.`
}

function brokerOf({ context }: Run, name: string): ClusterServiceBroker {
  const broker = context.cache.get(ClusterServiceBroker, '', name)
  if (broker === undefined) throw new Error(`the class is offered by the broker ${name}, which is not there`)
  return broker
}

/** Parameters may be secrets: what is written down tells whether they changed, and not what they are. */
const checksumOf = (parameters: object | undefined): string =>
  createHash('sha256')
    .update(sortedJson(parameters ?? {}))
    .digest('hex')

async function ask(run: Run, next: Taken & Offer, call: (broker: BrokerClient, details: Details) => Promise<Operation>): Promise<void> {
  const { instance, context, words, seams } = run
  const { namespace = '', generation = 0 } = instance.metadata
  const { client, clock, requeueAfter } = context
  const status = statusOf(instance)
  const broker = brokerOf(run, next.broker)
  const parameters = await parametersOf(client, instance)
  const parametersChecksum = checksumOf(parameters)
  const inProgressProperties = { ...next, parametersChecksum, generation: String(generation) }
  // Written before the broker is asked: whatever becomes of the answer, it is asked to take the instance away in the end.
  const underWay: InstanceStatus = {
    ...{ ...status, currentOperation: words.operation, inProgressProperties, deprovisionStatus: 'Required' },
    ...defined({ externalProperties: words.operation === 'Provision' ? { ...next } : undefined }),
    operationStartTime: status.operationStartTime ?? formatTime(clock.now()),
  }
  const started = await writeStatus(client, ServiceInstance, instance, underWay)
  const isUnchanged = words.operation === 'Update' && status.externalProperties?.['parametersChecksum'] === parametersChecksum
  const details = { namespace, ...defined({ parameters: parameters && !isUnchanged ? parameters : undefined }) }
  const answer = await askBroker(seams, broker, (each) => call(each, details)).catch(async (error: unknown) => {
    if (error instanceof BrokerRefusal) {
      const why = `${capitalized(words.call)} call failed: ${error.message}`
      await fail({ ...run, generation }, started, afterOperation(underWay), why)
      return undefined
    }
    const why = `The ${words.call} call failed and will be retried: ${error instanceof Error ? error.message : String(error)}`
    const isOrphan = words.operation === 'Provision' && error instanceof BrokerTrouble && error.isAmbiguous
    const conditions = [notReady(words.trouble, why), ...(isOrphan ? [orphaned] : [])]
    await reportInstance(started, { ...underWay, orphanMitigationInProgress: isOrphan }, conditions, context)
    if (isOrphan) context.events.warning(ServiceInstance, instance, orphanReason, orphanText)
    throw error
  })
  if (answer === undefined) return
  const { isAsync, operation, dashboardUrl } = answer
  const response = {
    ...defined({ lastOperation: operation }),
    ...omitEmpty({ dashboardURL: dashboardUrl }),
  }
  const current = { ...underWay, ...response }
  if (!isAsync) return succeed(run, started, current)
  await reportInstance(started, { ...current, asyncOpInProgress: true }, [notReady(...words.running)], context)
  requeueAfter(pollMs)
}

const orphaned = { type: 'OrphanMitigation', status: 'True' as const, reason: orphanReason, message: orphanText }
const capitalized = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`

async function poll(run: Run): Promise<void> {
  const { instance, context, words, seams } = run
  const status = statusOf(instance)
  const { generation: asked, ...properties } = status.inProgressProperties ?? {}
  const taken = { ...takenOf(instance), ...properties } as Taken & Offer
  const broker = brokerOf(run, taken.broker)
  const state = await askBroker(seams, broker, (each) => each.lastOperation(taken, status.lastOperation))
  if (state.state === 'in progress') return context.requeueAfter(state.retryAfterMs ?? pollMs)
  if (state.state === 'succeeded') return succeed(run, instance, status)
  const why = state.state === 'gone' ? 'the broker does not know of it' : (state.description ?? 'the broker does not say why')
  const over = afterOperation(status)
  // What has failed half-way may have left something behind.
  const next = words.operation === 'Provision' ? { ...over, orphanMitigationInProgress: true } : over
  const generation = Number(asked ?? instance.metadata.generation ?? 0)
  await fail({ ...run, generation }, instance, next, `${capitalized(words.call)} call failed: ${why}`)
}

/** What was asked for is what it is now; what was changed meanwhile is asked for next. */
async function succeed({ context, words }: Run, current: ServiceInstance, status: InstanceStatus): Promise<void> {
  const { generation: asked, ...properties } = status.inProgressProperties ?? {}
  const done: InstanceStatus = {
    ...afterOperation(status),
    externalProperties: { ...status.externalProperties, ...properties },
    provisionStatus: 'Provisioned',
    reconciledGeneration: Number(asked ?? current.metadata.generation ?? 0),
  }
  await reportInstance(current, done, [ready(...words.done)], context)
  context.events.normal(ServiceInstance, current, ...words.done)
}

async function fail(
  { context, words, generation }: Run & { generation: number },
  current: ServiceInstance,
  status: InstanceStatus,
  message: string,
): Promise<void> {
  const conditions = [...failed(words.failed, message), ...(status.orphanMitigationInProgress ? [orphaned] : [])]
  await reportInstance(current, { ...status, reconciledGeneration: generation }, conditions, context)
  context.events.warning(ServiceInstance, current, words.failed, message)
}
