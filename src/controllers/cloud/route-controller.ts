import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { formatDurationMs } from '#base/duration.ts'
import { errorMessage } from '#base/error-message.ts'
import { parseRange } from '#base/ip-range.ts'
import type { Metrics } from '#base/metrics.ts'
import type { CloudRoutes } from '#controllers/cloud/cloud-provider.ts'
import { planRoutes } from '#controllers/cloud/route-plan.ts'
import { defineLoop, type LoopContext } from '#controllers/runtime/define-loop.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

export type RouteControllerOptions = { routes: CloudRoutes; metrics: Metrics; periodMs: number }

/** So many calls are on their way to the cloud at most. */
const concurrentCalls = 200

/** Has the cloud lead the pod addresses of each node to that node. */
export function routeController({ routes, metrics, periodMs }: RouteControllerOptions): Controller {
  const syncs = metrics.counter('route_controller_route_sync_total', 'How often routes were compared with those of the cloud provider')
  return defineLoop({
    name: 'node-route-controller',
    alias: 'route',
    serviceAccount: 'route-controller',
    eventComponent: 'route_controller',
    reads: [Node],
    periodMs: () => periodMs,
    begin: (context) => async () => {
      const { cache, clock, events, logger, settings } = context
      syncs.inc()
      const present = await routes.list(settings.clusterName)
      const plan = planRoutes(cache.list(Node), present, settings.clusterCidrs.map(parseRange))
      // One after the other: a route that changes is removed and made again.
      await eachOf(plan.remove, async (route) => {
        try {
          await routes.remove(settings.clusterName, route)
        } catch (error) {
          logger.warn('failed to delete route', { route: route.name, cidr: route.destinationCidr, error: errorMessage(error) })
        }
      })
      const failed = new Set<string>()
      await eachOf(plan.create, async ({ node, route }) => {
        const hint = node.metadata.uid ?? ''
        const begunMs = clock.monotonic()
        try {
          await routes.create(settings.clusterName, hint, route)
        } catch (error) {
          failed.add(route.targetNode)
          const after = formatDurationMs(clock.monotonic() - begunMs)
          const what = `Could not create route ${hint} ${route.destinationCidr} for node ${route.targetNode} after ${after}`
          events.warning(Node, node, 'FailedToCreateRoute', `${what}: ${errorMessage(error)}`)
        }
      })
      await eachOf(plan.told, (node) =>
        tell(node, (node.spec?.podCIDRs ?? []).length > 0 && !failed.has(node.metadata.name ?? ''), context),
      )
    },
  })
}

async function eachOf<T>(items: readonly T[], step: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items]
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await step(item)
  }
  await Promise.all(Array.from({ length: Math.min(concurrentCalls, items.length) }, work))
}

/** The scheduler keeps pods away from nodes that cannot be reached. */
async function tell(node: V1Node, isReached: boolean, { client, clock, logger }: LoopContext): Promise<void> {
  const now = formatTime(clock.now())
  const condition = isReached
    ? { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated', message: 'RouteController created a route' }
    : { type: 'NetworkUnavailable', status: 'True', reason: 'NoRouteCreated', message: 'RouteController failed to create a route' }
  const before = findCondition(node.status?.conditions, condition.type)
  if (before?.status === condition.status && before.reason === condition.reason) return
  const conditions = [{ ...condition, lastTransitionTime: now, lastHeartbeatTime: now }]
  try {
    await client.patch(Node, { name: node.metadata.name ?? '' }, { status: { conditions } }, { subresource: 'status' })
  } catch (error) {
    if (!isNotFound(error))
      logger.warn('failed to update the network condition of a node', { node: node.metadata.name, error: errorMessage(error) })
  }
}
