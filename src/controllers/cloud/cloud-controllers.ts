import { defined } from '#base/defined.ts'
import type { Metrics } from '#base/metrics.ts'
import { cloudNodeController } from '#controllers/cloud/cloud-node-controller.ts'
import { cloudNodeLifecycleController } from '#controllers/cloud/cloud-node-lifecycle-controller.ts'
import type { CloudProvider } from '#controllers/cloud/cloud-provider.ts'
import { routeController } from '#controllers/cloud/route-controller.ts'
import { serviceLbController } from '#controllers/cloud/service-lb-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

export type CloudControllersOptions = {
  provider: CloudProvider
  metrics: Metrics
  nodeStatusUpdateMs: number
  concurrentNodeUpdates: number
  configuresRoutes: boolean
  routePeriodMs: number
}

/** Upstream's four, as far as the cloud has what they are about. */
export function cloudControllers(options: CloudControllersOptions): Controller[] {
  const { provider, metrics, nodeStatusUpdateMs: statusUpdateMs, concurrentNodeUpdates: concurrentUpdates } = options
  const { instances, loadBalancers, routes } = provider
  const found = defined({
    node: instances && cloudNodeController({ instances, metrics, statusUpdateMs, concurrentUpdates }),
    lifecycle: instances && cloudNodeLifecycleController(instances),
    service: loadBalancers && serviceLbController(loadBalancers, metrics),
    route: options.configuresRoutes && routes ? routeController({ routes, metrics, periodMs: options.routePeriodMs }) : undefined,
  })
  return Object.values(found)
}
