/** Keeps what a broker offers as classes and plans of the cluster. */

import { formatTime, parseTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { parseDurationMs } from '#base/duration.ts'
import { withFinalizer } from '#controllers/kit/finalizer.ts'
import { setCondition } from '#controllers/kit/set-condition.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import type { BrokerService } from '#controllers/service-catalog/broker-client.ts'
import { askBroker, type OpenHttp } from '#controllers/service-catalog/brokers.ts'
import { ClusterServiceBroker, ClusterServiceClass, ClusterServicePlan } from '#controllers/service-catalog/definitions.ts'

const relistMs = 15 * 60_000
const fieldManager = 'service-catalog'
export const catalogFinalizer = 'kubernetes-incubator/service-catalog'

export function brokerController(openHttp: OpenHttp): Controller {
  return defineController({
    name: 'service-catalog-brokers',
    eventComponent: 'service-catalog-controller-manager',
    for: ClusterServiceBroker,
    reads: [ClusterServiceClass, ClusterServicePlan],
    // Its own status is no reason to ask again.
    ignores: (next, prev) =>
      prev !== undefined && prev.metadata.generation === next.metadata.generation && !next.metadata.deletionTimestamp,
    reconcile: withFinalizer({
      for: ClusterServiceBroker,
      name: catalogFinalizer,
      reconcile: (broker, context) => fetchCatalog(broker, context, openHttp),
      async cleanup(broker, context) {
        await writeOffers(broker, [], context)
        return undefined
      },
    }),
  })
}

async function fetchCatalog(broker: ClusterServiceBroker, context: ReconcileContext, openHttp: OpenHttp): Promise<void> {
  const { client, clock, events, requeueAfter } = context
  const { relistBehavior, relistDuration } = broker.spec
  const periodMs = relistDuration === undefined ? relistMs : parseDurationMs(relistDuration)
  const { lastCatalogRetrievalTime, reconciledGeneration } = broker.status ?? {}
  const dueMs = lastCatalogRetrievalTime === undefined ? 0 : parseTime(lastCatalogRetrievalTime) + periodMs - clock.now()
  const isCurrent = reconciledGeneration === broker.metadata.generation
  if (isCurrent && (relistBehavior === 'Manual' || dueMs > 0)) {
    if (relistBehavior === 'Duration') requeueAfter(dueMs)
    return
  }
  const report = (status: 'True' | 'False', reason: string, message: string, fetched: object) =>
    writeStatus(client, ClusterServiceBroker, broker, {
      ...broker.status,
      ...fetched,
      conditions: setCondition(broker.status?.conditions, { type: 'Ready', status, reason, message }, clock),
    })
  try {
    const services = await askBroker({ client, clock, openHttp }, broker, (each) => each.catalog())
    await writeOffers(broker, services, context)
  } catch (error) {
    const message = `Error getting broker catalog: ${error instanceof Error ? error.message : String(error)}`
    events.warning(ClusterServiceBroker, broker, 'ErrorFetchingCatalog', message)
    await report('False', 'ErrorFetchingCatalog', message, {})
    throw error
  }
  const now = formatTime(clock.now())
  const reconciled = broker.metadata.generation === undefined ? {} : { reconciledGeneration: broker.metadata.generation }
  const words = 'Successfully fetched catalog entries from broker.'
  await report('True', 'FetchedCatalog', words, { lastCatalogRetrievalTime: now, ...reconciled })
  events.normal(ClusterServiceBroker, broker, 'FetchedCatalog', words)
  if (relistBehavior === 'Duration') requeueAfter(periodMs)
}

/** Brings classes and plans to what the broker offers. What it offers no longer goes. */
async function writeOffers(
  broker: ClusterServiceBroker,
  services: readonly BrokerService[],
  { client, cache }: ReconcileContext,
): Promise<void> {
  const clusterServiceBrokerName = broker.metadata.name ?? ''
  const offered = new Set<string>()
  for (const service of services) {
    offered.add(service.id)
    await client.apply(ClusterServiceClass, classOf(service, clusterServiceBrokerName), { fieldManager, force: true })
    for (const plan of service.plans ?? []) {
      offered.add(plan.id)
      await client.apply(ClusterServicePlan, planOf(plan, service, clusterServiceBrokerName), { fieldManager, force: true })
    }
  }
  for (const kind of [ClusterServicePlan, ClusterServiceClass] as const) {
    for (const { metadata, spec } of cache.list<{ metadata: { name?: string }; spec: { clusterServiceBrokerName: string } }>(
      kind as never,
    )) {
      if (spec.clusterServiceBrokerName === clusterServiceBrokerName && !offered.has(metadata.name ?? '')) {
        await client.delete(kind as typeof ClusterServiceClass, { name: metadata.name })
      }
    }
  }
}

function classOf(service: BrokerService, clusterServiceBrokerName: string) {
  const {
    id,
    name,
    description,
    bindable = false,
    plan_updateable = false,
    bindings_retrievable = false,
    tags,
    requires,
    metadata,
  } = service
  return {
    metadata: { name: id },
    spec: {
      ...{ clusterServiceBrokerName, externalName: name, externalID: id, bindable },
      ...{ planUpdatable: plan_updateable, bindingRetrievable: bindings_retrievable },
      ...defined({ description, tags, requires, externalMetadata: metadata }),
    },
  }
}

function planOf(plan: NonNullable<BrokerService['plans']>[number], service: BrokerService, clusterServiceBrokerName: string) {
  const { id, name, description, free = true, bindable, metadata, schemas } = plan
  const instanceSchema = schemas?.service_instance?.create?.parameters
  const bindingSchema = schemas?.service_binding?.create?.parameters
  return {
    metadata: { name: id },
    spec: {
      ...{ clusterServiceBrokerName, clusterServiceClassRef: { name: service.id }, externalName: name, externalID: id, free },
      ...defined({
        description,
        bindable,
        externalMetadata: metadata,
        instanceCreateParameterSchema: instanceSchema,
        serviceBindingCreateParameterSchema: bindingSchema,
      }),
    },
  }
}
