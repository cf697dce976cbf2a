/** Ingress and Gateway, served by this process in threads of their own, from the first object that asks for it on. */
import { defined } from '#base/defined.ts'
import { listenHttp } from '#base/http-server.ts'
import { addressAt, parseRange } from '#base/ip-range.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { isLoopback } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import type { SpareAddresses } from '#ingress/controller/listeners.ts'
import { ProxyControl } from '#ingress/controller/proxy-control.ts'
import { runIngressController } from '#ingress/controller/run-ingress-controller.ts'
import { ProxyMetrics } from '#ingress/data-plane/proxy-metrics.ts'
import { ProxyThreads } from '#ingress/data-plane/proxy-threads.ts'
import { GatewayController } from '#ingress/gateway/gateway-controller.ts'
import { ipTool } from '#network/kernel/ip-tool.ts'
import type { NodeNetwork } from '#network/node-network.ts'

const mostThreads = 4
const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

export type IngressOptions = Pick<
  UpOptions,
  'listen' | 'ingressListen' | 'ingressThreads' | 'ingressHttpPort' | 'ingressHttpsPort' | 'ingressMetricsPort'
>

export async function startIngress(
  stage: Stage,
  { client, options, network }: { client: Client; options: IngressOptions; network: NodeNetwork | undefined },
  seams: ClusterSeams,
): Promise<void> {
  const { clock, random } = seams
  const logger = seams.logger.with({ component: 'ingress' })
  const { hosts, addresses } = ingressPlaces(options, network)
  const { platform, cores } = thisMachine()
  // Elsewhere threads cannot share a port.
  const count = platform === 'linux' ? options.ingressThreads || Math.min(mostThreads, cores) : 1
  const metrics = new Metrics()
  const control = new ProxyControl({
    client,
    clock,
    random,
    logger,
    hosts,
    ...defined({ spare: spareAddresses(hosts, network) }),
    startDataPlane() {
      void serveMetrics(stage, metrics, options, logger)
      return new ProxyThreads({ count, clock, logger, metrics: new ProxyMetrics(metrics) })
    },
  })
  stage.defer(() => control.stop())
  const ports = {
    httpPort: options.ingressHttpPort || (thisProcess.isRoot ? 80 : 8080),
    httpsPort: options.ingressHttpsPort || (thisProcess.isRoot ? 443 : 8443),
  }
  const shared = { client, clock, random, logger, control, addresses, ...ports }
  const controller = await runIngressController(shared)
  stage.defer(() => controller.stop())
  const gateways = new GatewayController({ ...shared, logger: seams.logger.with({ component: 'gateway' }) })
  stage.defer(() => gateways.stop())
}

/** Nodes have the addresses before these, load balancers those after. */
const firstSpare = 180
const lastSpare = 199

/** Of the network of nodes, where the proxy does not listen everywhere anyway. */
function spareAddresses(hosts: readonly string[], network: NodeNetwork | undefined): SpareAddresses | undefined {
  if (network === undefined || !thisProcess.isRoot || hosts.some((host) => everywhere.has(host))) return undefined
  const range = parseRange(network.range)
  const ip = ipTool(nodeProcesses)
  return {
    all: Array.from({ length: lastSpare - firstSpare + 1 }, (_, index) => addressAt(range, firstSpare + index)),
    add: (address) => ip.change([`address replace ${address}/32 dev ${network.bridge}`]),
    remove: (address) => ip.try([`address delete ${address}/32 dev ${network.bridge}`]),
  }
}

/** Plain HTTP, for this machine; where the port is taken, another cluster has it. */
async function serveMetrics(stage: Stage, metrics: Metrics, { ingressMetricsPort: port }: IngressOptions, logger: Logger): Promise<void> {
  if (port === 0) return
  try {
    const listener = await listenHttp({
      ...{ host: '127.0.0.1', port },
      onExchange(exchange) {
        const [path] = exchange.target.split('?')
        if (path === '/metrics') exchange.respond(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, metrics.text())
        else if (path === '/healthz') exchange.respond(200, { 'content-type': 'text/plain' }, 'ok')
        else exchange.respond(404, { 'content-type': 'text/plain' }, '404 page not found\n')
      },
    })
    stage.defer(() => listener.close())
  } catch (error) {
    logger.warn('failed to serve metrics of the ingress proxy', { port, error: String(error) })
  }
}

/** Where it listens, and what it says of that. A cluster for this machine alone is not reached from others, its Ingress neither. */
export function ingressPlaces(
  { ingressListen, listen }: Pick<UpOptions, 'ingressListen' | 'listen'>,
  network: Pick<NodeNetwork, 'address'> | undefined,
): { hosts: string[]; addresses: string[] } {
  const nodes = network === undefined ? [] : [network.address]
  const usual = everywhere.has(listen) ? [listen] : [...new Set(['127.0.0.1', ...(isLoopback(listen) ? [] : [listen]), ...nodes])]
  const hosts = ingressListen.length > 0 ? [...ingressListen] : usual
  const named = hosts.filter((host) => !everywhere.has(host) && !isLoopback(host))
  const [own] = hosts.some((host) => everywhere.has(host)) ? thisMachine().addresses() : []
  const addresses = named.length > 0 ? named : [nodes[0] ?? own ?? '127.0.0.1']
  return { hosts, addresses: addresses.slice(-1) }
}
