import { Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1LoadBalancerStatus, V1Node, V1Service } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { errorMessage } from '#base/error-message.ts'
import { exponentialBuckets, type Metrics } from '#base/metrics.ts'
import { keyOf, objectKey } from '#client/informer/object-store.ts'
import { balancedSet, isBalanced, isIncluded, loggableNames } from '#controllers/cloud/balanced-nodes.ts'
import {
  cleanupFinalizer,
  hasCleanupFinalizer,
  needsCleanup,
  needsUpdate,
  wantsLoadBalancer,
} from '#controllers/cloud/balanced-services.ts'
import { type CloudLoadBalancers, ImplementedElsewhere, RetryLater } from '#controllers/cloud/cloud-provider.ts'
import { defineController, expectedFailure, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

/** What is known of a service that has, had or shall have a load balancer. */
type Known = {
  service: V1Service
  /** Whether the cloud has made what this service asks for. */
  isEnsured: boolean
  /** `balancedSet` of the nodes that it leads to. */
  nodes: string
}

/** By the status, as upstream: permissions of this controller end there. Finalizers of others are left as they are. */
const finalizerWrite = { type: 'strategic', subresource: 'status' } as const

const noNodes = 'There are no available nodes for LoadBalancer'

/** Has the cloud make, change and remove the load balancers of services. */
export function serviceLbController(loadBalancers: CloudLoadBalancers, metrics: Metrics): Controller {
  const measured = metricsOf(metrics)
  const known = new Map<string, Known>()
  const own = loadBalancers.ownAnnotations ?? []

  /** Throws what the cloud said; the caller tells users. */
  const ensure = async (service: V1Service, context: ReconcileContext): Promise<void> => {
    const { cache, client, events, settings } = context
    const key = keyOf(service)
    events.normal(Service, service, 'EnsuringLoadBalancer', 'Ensuring load balancer')
    // Before there is anything to clean up: a service must not be gone before its load balancer is.
    if (!hasCleanupFinalizer(service)) {
      await wrapped('failed to add load balancer cleanup finalizer', () =>
        client.patch(Service, service.metadata, { metadata: { finalizers: [cleanupFinalizer] } }, finalizerWrite),
      )
    }
    const nodes = cache.list(Node).filter(isBalanced)
    if (nodes.length === 0) events.warning(Service, service, 'UnAvailableLoadBalancer', noNodes)
    known.set(key, { service, isEnsured: false, nodes: balancedSet(nodes) })
    try {
      const status = await wrapped('failed to ensure load balancer', () => loadBalancers.ensure(settings.clusterName, service, nodes))
      events.normal(Service, service, 'EnsuredLoadBalancer', 'Ensured load balancer')
      await writeStatus(service, status, context)
    } catch (error) {
      if (!(error instanceof ImplementedElsewhere)) throw error
    }
    known.set(key, { service, isEnsured: true, nodes: balancedSet(nodes) })
    // Nodes that came meanwhile found nothing that could be told of them.
    if (balancedSet(cache.list(Node).filter(isBalanced)) !== balancedSet(nodes)) context.requeueAfter(0)
  }

  const cleanUp = async (service: V1Service, context: ReconcileContext): Promise<void> => {
    const { client, events, settings } = context
    const there = await wrapped('failed to check if load balancer exists before cleanup', () =>
      loadBalancers.get(settings.clusterName, service),
    )
    if (there !== undefined) {
      events.normal(Service, service, 'DeletingLoadBalancer', 'Deleting load balancer')
      await wrapped('failed to delete load balancer', () => loadBalancers.remove(settings.clusterName, service)).catch(ignoreElsewhere)
    }
    if (hasCleanupFinalizer(service)) {
      const metadata = { '$deleteFromPrimitiveList/finalizers': [cleanupFinalizer] }
      await wrapped('failed to remove load balancer cleanup finalizer', () =>
        client.patch(Service, service.metadata, { metadata }, finalizerWrite).catch(ignoreGone),
      )
    }
    events.normal(Service, service, 'DeletedLoadBalancer', 'Deleted load balancer')
    await writeStatus(service, {}, context)
    known.delete(keyOf(service))
  }

  /** Where this fails the whole load balancer is asked for again, later. */
  const updateNodes = async (service: V1Service, nodes: readonly V1Node[], context: ReconcileContext): Promise<void> => {
    const { clock, events, settings } = context
    const begunMs = clock.monotonic()
    measured.syncs.inc()
    try {
      await loadBalancers.update(settings.clusterName, service, nodes)
      if (nodes.length === 0) events.warning(Service, service, 'UnAvailableLoadBalancer', noNodes)
      else events.normal(Service, service, 'UpdatedLoadBalancer', 'Updated load balancer with new hosts')
    } catch (error) {
      if (error instanceof ImplementedElsewhere) return
      const isThere = await loadBalancers.get(settings.clusterName, service).then(
        (status) => status !== undefined,
        () => true,
      )
      if (!isThere) return
      measured.nodeErrors.inc()
      events.warning(
        Service,
        service,
        'UpdateLoadBalancerFailed',
        `Error updating load balancer with new hosts ${loggableNames(nodes)} [node names limited, total number of nodes: ${nodes.length}], error: ${errorMessage(error)}`,
      )
      throw expectedFailure(`failed to update load balancer hosts for service ${keyOf(service)}: ${errorMessage(error)}`)
    } finally {
      const seconds = (clock.monotonic() - begunMs) / 1000
      measured.updateSeconds.observe(seconds)
      measured.nodeSeconds.observe(seconds)
    }
  }

  const removeLost = async ({ service }: Known, context: ReconcileContext): Promise<void> => {
    if (!wantsLoadBalancer(service)) return
    const { events, settings } = context
    events.normal(Service, service, 'DeletingLoadBalancer', 'Deleting load balancer')
    try {
      await loadBalancers.remove(settings.clusterName, service)
    } catch (error) {
      events.warning(Service, service, 'DeleteLoadBalancerFailed', `Error deleting load balancer: ${errorMessage(error)}`)
      throw expectedFailure(`failed to delete load balancer: ${errorMessage(error)}`)
    }
    events.normal(Service, service, 'DeletedLoadBalancer', 'Deleted load balancer')
  }

  return defineController({
    name: 'service-lb-controller',
    alias: 'service',
    serviceAccount: 'service-controller',
    eventComponent: 'service-controller',
    for: Service,
    concurrency: 1,
    retry: { baseMs: 5000, maxMs: 300_000 },
    ignores: (next, prev) =>
      prev === undefined ? !wantsLoadBalancer(next) && !needsCleanup(next) : !needsUpdate(prev, next, own) && !needsCleanup(next),
    watches: [
      on(Node, (node, cache, { prev, isGone }) => {
        const isSame = prev !== undefined && isIncluded(prev) === isIncluded(node) && prev.spec?.providerID === node.spec?.providerID
        if (isSame && !isGone) return []
        // Those that the cloud has not made yet are asked for at their own pace, and look at nodes when they are there.
        return cache
          .list(Service)
          .map(keyOf)
          .filter((key) => known.get(key)?.isEnsured)
      }),
    ],

    async reconcile(service, context) {
      const key = keyOf(service)
      let state = known.get(key)
      if (state !== undefined && state.service.metadata.uid !== service.metadata.uid) {
        await removeLost(state, context)
        known.delete(key)
        state = undefined
      }
      const isOver = !wantsLoadBalancer(service) || needsCleanup(service)
      if (isOver && state === undefined && !hasCleanupFinalizer(service)) return
      if (!isOver && state?.isEnsured && !needsUpdate(state.service, service, own)) {
        const nodes = context.cache.list(Node).filter(isBalanced)
        if (balancedSet(nodes) === state.nodes) return
        known.set(key, { service, isEnsured: false, nodes: balancedSet(nodes) })
        await updateNodes(service, nodes, context)
        known.set(key, { service, isEnsured: true, nodes: balancedSet(nodes) })
        return
      }
      try {
        await (isOver ? cleanUp(service, context) : ensure(service, context))
      } catch (error) {
        context.events.warning(Service, service, 'SyncLoadBalancerFailed', `Error syncing load balancer: ${errorMessage(error)}`)
        const cause = error instanceof Error ? error.cause : undefined
        if (!(cause instanceof RetryLater)) throw expectedFailure(errorMessage(error))
        context.logger.warn('cloud provider wants to be asked later', {
          service: key,
          retryMs: cause.retryAfterMs,
          error: errorMessage(error),
        })
        context.requeueAfter(cause.retryAfterMs)
      }
    },

    async reconcileGone(namespace, name, context) {
      const key = objectKey(namespace, name)
      const state = known.get(key)
      if (state === undefined) return
      await removeLost(state, context)
      known.delete(key)
    },
  })
}

async function wrapped<T>(what: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof ImplementedElsewhere) throw error
    throw new Error(`${what}: ${errorMessage(error)}`, { cause: error })
  }
}

function ignoreElsewhere(error: unknown): void {
  if (!(error instanceof ImplementedElsewhere)) throw error
}

function ignoreGone(error: unknown): void {
  if (!isNotFound(error)) throw error
}

async function writeStatus(service: V1Service, loadBalancer: V1LoadBalancerStatus, { client }: ReconcileContext): Promise<void> {
  if (sortedJson(service.status?.loadBalancer?.ingress ?? []) === sortedJson(loadBalancer.ingress ?? [])) return
  const status = { loadBalancer: { ingress: loadBalancer.ingress ?? null } }
  await wrapped('failed to update load balancer status', () =>
    client.patch(Service, service.metadata, { status }, { type: 'merge', subresource: 'status' }).catch(ignoreGone),
  )
}

function metricsOf(metrics: Metrics) {
  const buckets = exponentialBuckets(1, 2, 15)
  return {
    syncs: metrics.counter(
      'service_controller_loadbalancer_sync_total',
      'Load balancers that were configured because services or nodes changed',
    ),
    nodeErrors: metrics.counter(
      'service_controller_nodesync_error_total',
      'Load balancers that could not be configured when nodes changed',
    ),
    nodeSeconds: metrics.histogram(
      'service_controller_nodesync_latency_seconds',
      'How long load balancers take to know of a change of nodes',
      buckets,
    ),
    updateSeconds: metrics.histogram(
      'service_controller_update_loadbalancer_host_latency_seconds',
      'How long one load balancer takes to know of its nodes',
      buckets,
    ),
  }
}
