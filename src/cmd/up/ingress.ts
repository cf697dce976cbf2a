/** Ingress and Gateway, served by this process in threads of their own, from the first object that asks for it on. */
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { isLoopback } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { ProxyControl } from '#ingress/controller/proxy-control.ts'
import { runIngressController } from '#ingress/controller/run-ingress-controller.ts'
import { ProxyThreads } from '#ingress/data-plane/proxy-threads.ts'
import { GatewayController } from '#ingress/gateway/gateway-controller.ts'
import type { NodeNetwork } from '#network/node-network.ts'

const mostThreads = 4
const everywhere: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

export async function startIngress(
  stage: Stage,
  { apiServer, options, network }: { apiServer: RunningApiServer; options: UpOptions; network: NodeNetwork | undefined },
  seams: ClusterSeams,
): Promise<void> {
  const { clock, random } = seams
  const logger = seams.logger.with({ component: 'ingress' })
  const client = clientInProcess(apiServer, 'typernetes:ingress', ['system:masters'])
  const { hosts, addresses } = ingressPlaces(options, network)
  const { platform, cores } = thisMachine()
  // Elsewhere threads cannot share a port.
  const count = platform === 'linux' ? options.ingressThreads || Math.min(mostThreads, cores) : 1
  const control = new ProxyControl({
    client,
    clock,
    random,
    logger,
    hosts,
    startDataPlane: () => new ProxyThreads({ count, clock, logger }),
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
