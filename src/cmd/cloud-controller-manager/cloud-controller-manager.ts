import { FeatureGates } from '#api/meta/feature-gates.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { parseRange } from '#base/ip-range.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import type { CloudControllerManagerFlags } from '#cmd/cloud-controller-manager/flags.ts'
import { openProvider } from '#cmd/cloud-controller-manager/open-provider.ts'
import { serviceAccountToken } from '#cmd/controller-manager/service-account-token.ts'
import { nodeMaskSizes } from '#cmd/controller-manager/settings.ts'
import { type Led, runLed } from '#cmd/run-led.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { sayGatesWithoutEffect } from '#cmd/without-effect.ts'
import { cloudControllers } from '#controllers/cloud/cloud-controllers.ts'
import type { CloudProvider } from '#controllers/cloud/cloud-provider.ts'
import { nodeIpamController } from '#controllers/node-ipam/node-ipam-controller.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { effectiveControllerGates } from '#controllers/runtime/effective-gates.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'
import { type ControllerSettings, defaultSettings } from '#controllers/runtime/settings.ts'

/** Runs until a signal ends it, or leadership is lost. */
export async function runCloudControllerManager(flags: CloudControllerManagerFlags, logger: Logger): Promise<void> {
  const component = 'cloud-controller-manager'
  sayGatesWithoutEffect(flags.featureGates, effectiveControllerGates, logger)
  const metrics = new Metrics()
  const seams = { clock: systemClock, random: systemRandom, logger }
  using client = await openClient({ kubeconfig: flags.kubeconfig, server: flags.master, userAgent: `${component}/${kubernetesVersion}` })
  const provider = await openProvider(flags.cloudProvider, flags.cloudConfig, client)
  checkRoutes(flags, provider)
  const asAccount = async (account: string) => client.as(serviceAccountToken(account, client, systemClock))
  const all = cloudControllers({
    ...{ provider, metrics, configuresRoutes: flags.configureCloudRoutes, routePeriodMs: flags.routeReconciliationPeriod },
    nodeStatusUpdateMs: flags.nodeStatusUpdateFrequency,
    concurrentNodeUpdates: flags.concurrentNodeStatusUpdates || flags.concurrentNodeSyncs,
  })
  const selected = selectControllers([...all, nodeIpamController], flags.controllers)
  const manager = new ControllerManager({
    ...{ client, ...seams, metrics, settings: settingsOf(flags), controllers: [...selected, ...(provider.controllers ?? [])] },
    ...defined({ clientFor: flags.useServiceAccountCredentials ? asAccount : undefined }),
  })
  const running = metrics.gauge('running_managed_controllers', 'Whether a controller runs in this process')
  const led: Led = {
    async start(signal) {
      await manager.start(signal)
      for (const { alias } of selected) running.set(1, { manager: component, name: alias })
    },
    async stop() {
      await manager.stop()
      for (const { alias } of selected) running.set(0, { manager: component, name: alias })
    },
  }
  await runLed(flags, { component, client, led, metrics, logger })
}

/** Routes of a cluster are told from others by its range. */
function checkRoutes({ configureCloudRoutes, clusterCidr, controllers }: CloudControllerManagerFlags, { routes }: CloudProvider): void {
  const isOff = controllers.some((name) => name === '-route' || name === '-node-route-controller')
  if (!configureCloudRoutes || routes === undefined || isOff) return
  if (clusterCidr.length === 0)
    throw new Error('--cluster-cidr is needed for routes of the cloud provider; --configure-cloud-routes=false does without')
  const families = new Set(clusterCidr.map((cidr) => parseRange(cidr).family))
  if (clusterCidr.length > 2) throw new Error(`length of clusterCIDRs is:${clusterCidr.length} more than max allowed of 2`)
  if (families.size < clusterCidr.length)
    throw new Error(`len of ClusterCIDRs==${clusterCidr.length} and they are not configured as dual stack (at least one from each IPFamily`)
}

function settingsOf(flags: CloudControllerManagerFlags): ControllerSettings {
  const gates = new FeatureGates(flags.featureGates.join(','))
  return {
    ...defaultSettings,
    ...nodeMaskSizes(flags),
    clusterName: flags.clusterName,
    allocateNodeCidrs: flags.allocateNodeCidrs,
    clusterCidrs: flags.clusterCidr,
    serviceCidrs: flags.serviceClusterIpRange,
    nodeMonitorPeriodMs: flags.nodeMonitorPeriod,
    concurrency: { 'cloud-node-controller': flags.concurrentNodeSyncs, 'service-lb-controller': flags.concurrentServiceSyncs },
    isEnabled: (gate) => gates.isEnabled(gate),
  }
}
