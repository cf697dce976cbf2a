import { Node } from '#api/core/v1/kinds.gen.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle, processSignals, runUntilSignal, type Stage } from '#base/lifecycle.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { Informer } from '#client/informer/informer.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import type { addonsOptions } from '#cmd/addons/command.ts'
import { serveMetricsApi } from '#cmd/addons/serve-metrics-api.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import { serveHealth } from '#cmd/serve-health.ts'
import { addonsLease, loadBalancerLease, metricsLease } from '#cmd/up/addons-leases.ts'
import { Leadership } from '#cmd/up/leadership.ts'
import { kubernetesVersion } from '#cmd/version.ts'

type Options = OptionValues<typeof addonsOptions>

/** Until a signal ends it. Names and Ingress are served wherever it runs; of several, one serves metrics, gives addresses and applies add-ons. */
export async function runAddons(options: Options): Promise<void> {
  const logger = loggerOf(options).with({ component: 'addons' })
  const seams = { clock: systemClock, random: systemRandom, files: nodeFiles, logger }
  const { clock, random } = seams
  const openAs = (kubeconfig: string) => openClient({ kubeconfig, userAgent: `typernetes-addons/${kubernetesVersion}` })
  const client = await openAs(options.kubeconfig)
  const lifecycle = new Lifecycle({ clock, logger })
  const leading = async (stage: Stage, lease: string): Promise<Leadership> => {
    const leadership = new Leadership({ client, clock, random, logger, lease, hostName: thisMachine().hostname })
    stage.defer(() => leadership.stop())
    await leadership.start()
    return leadership
  }
  const onOne = async (stage: Stage, lease: string, start: (led: Stage) => Promise<void>) => (await leading(stage, lease)).add(lease, start)
  await runUntilSignal(lifecycle, processSignals, async () => {
    await lifecycle.stage('client', async (stage) => void stage.use(client))
    if (options.securePort !== 0) {
      await lifecycle.stage('health', async (stage) => {
        const { bindAddress: host, securePort: port } = options
        const listener = await serveHealth({ component: 'typernetes-addons', host, port, metrics: new Metrics(), clock, random })
        stage.defer(() => listener.close())
      })
    }
    if (options.dns) {
      await lifecycle.stage('dns', async (stage) => {
        const { startClusterDns, dnsLease } = await import('#cmd/up/cluster-dns.ts')
        const leadership = await leading(stage, dnsLease)
        const isOfCluster = await nodeAddresses(stage, { ...seams, client })
        const { listen: address, clusterCidr: clusterCidrs } = options
        const network = { address, range: `${address}/${address.includes(':') ? 128 : 32}`, clusterCidrs, hasMachineNode: true }
        const parts = { client, network, isOfCluster, clusterDomain: 'cluster.local', onOne: leadership }
        await startClusterDns(stage, { ...parts, options: { ...options, dnsListen: '', dataDir: undefined } }, seams)
      })
    }
    if (options.ingress !== 'off') {
      await lifecycle.stage('ingress', async (stage) => {
        const { startIngress } = await import('#cmd/up/ingress.ts')
        await startIngress(stage, { client, options, network: undefined }, seams)
      })
    }
    if (options.loadBalancerPool.length > 0) {
      await lifecycle.stage('load balancer', async (stage) => {
        const { startLoadBalancer } = await import('#cmd/up/load-balancer.ts')
        const parts = { client, options, network: undefined, hasNodes: true }
        await onOne(stage, loadBalancerLease, (led) => startLoadBalancer(led, parts, seams))
      })
    }
    if (options.addonsDir !== '') {
      await lifecycle.stage('add-ons', async (stage) => {
        const { startAddons } = await import('#cmd/up/addons.ts')
        const manager = options.addonsKubeconfig === '' ? client : stage.use(await openAs(options.addonsKubeconfig))
        await onOne(stage, addonsLease, async (led) => startAddons(led, manager, options.addonsDir, seams))
      })
    }
    if (options.metricsServer) {
      await lifecycle.stage('metrics server', async (stage) => {
        const parts = { client, host: options.listen, port: options.metricsPort }
        await onOne(stage, metricsLease, (led) => serveMetricsApi(led, parts, seams))
      })
    }
    thisProcess.print('The add-ons are running')
  })
}

/** Whether a node has this address: pods on the network of their node ask by it. */
async function nodeAddresses(
  stage: Stage,
  seams: Pick<ConstructorParameters<typeof Informer>[0], 'client' | 'clock' | 'random' | 'logger'>,
): Promise<(address: string) => boolean> {
  const nodes = new Informer({ ...seams, kind: Node, forgetsManagers: true })
  stage.defer(() => nodes.stop())
  nodes.start()
  await nodes.synced
  return (address) => nodes.list().some(({ status }) => status?.addresses?.some((each) => each.address === address))
}
