/** Three etcd servers, two API servers, controllers and schedulers, each a process, and links between all of them that can fail. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { nodeSockets } from '#base/sockets.ts'
import { ApiBalancer } from '#cmd/join/api-balancer.ts'
import { type CuttableProxy, startProxy } from '../contracts/cuttable-proxy.ts'
import { type EtcdCluster, startEtcdCluster } from '../contracts/etcd-server.ts'
import { type ComponentKeys, layComponentKeys } from '../support/component-keys.ts'
import { freePort } from '../support/free-port.ts'

import { KeptProcess } from './kept-process.ts'
import type { Target } from './soak-client.ts'

export const token = 'soak-token'
const [serversCount, membersCount] = [2, 3]
/** Shorter than usual, so that somebody else leads while the run lasts; long enough for links that are slow. */
const election = ['--leader-elect-lease-duration=8s', '--leader-elect-renew-deadline=6s', '--leader-elect-retry-period=1s']

export type HistoryServer = {
  process: KeptProcess
  /** To etcd, one for each member. */
  storeLinks: readonly CuttableProxy[]
  /** From clients: each half of them has its own. */
  clientLinks: readonly [CuttableProxy, CuttableProxy]
}

export type HistoryCluster = AsyncDisposable & {
  etcd: EtcdCluster
  servers: readonly HistoryServer[]
  /** Controller managers and schedulers: of each kind one leads. */
  managers: readonly KeptProcess[]
  /** As one half of the clients sees the servers, or the other. */
  targets(half: 0 | 1): Target[]
}

export async function startHistoryCluster(managersOfEach: number): Promise<HistoryCluster> {
  await using starting = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'tn histories '))
  starting.defer(() => rmSync(directory, { recursive: true, force: true }))
  const keys = await layComponentKeys(directory)
  const tokens = join(directory, 'tokens.csv')
  writeFileSync(tokens, `${token},soak,soak,"system:masters"\n`)
  const etcd = starting.use(await startEtcdCluster(membersCount, { hasPeerLinks: true }))
  const servers: HistoryServer[] = []
  for (let id = 0; id < serversCount; id++) {
    const link = async (target: string) => starting.use(await startProxy(target))
    const storeLinks = await Promise.all(etcd.endpoints.map((endpoint) => link(endpoint.replace('http://', ''))))
    const port = await freePort()
    const where = ['--bind-address=127.0.0.1', `--secure-port=${port}`, `--etcd-servers=${storeLinks.map(urlOf)}`]
    const args = ['apiserver', ...where, ...keys.apiserverFlags, `--token-auth-file=${tokens}`]
    const process = starting.use(await KeptProcess.start(args, /The API server is ready/))
    const own = `127.0.0.1:${port}`
    servers.push({ process, storeLinks, clientLinks: [await link(own), await link(own)] })
  }
  const balancers = await Promise.all(
    Array.from({ length: managersOfEach }, async (_, index) => {
      const addresses = servers.map(({ clientLinks }) => addressOf(clientLinks[index % 2 === 0 ? 0 : 1]))
      const seams = { sockets: nodeSockets, clock: systemClock, logger: silentLogger }
      const balancer = await ApiBalancer.listen({ port: 0, servers: addresses, ...seams })
      starting.defer(() => balancer.close())
      return `https://127.0.0.1:${balancer.port}`
    }),
  )
  const managers = (await Promise.all(balancers.map((url) => startManagers(keys, url)))).flat()
  for (const manager of managers) starting.use(manager)
  const started = starting.move()
  return {
    ...{ etcd, servers, managers },
    targets: (half) => servers.map(({ clientLinks }) => ({ url: `https://${clientLinks[half].endpoint}`, token })),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

function startManagers(keys: ComponentKeys, url: string): Promise<KeptProcess[]> {
  const flags = ['--secure-port=0', ...election]
  const accounts = ['--use-service-account-credentials=true', ...keys.managerFlags]
  const manager = ['controller-manager', '--kubeconfig', keys.kubeconfig('controller-manager', url), ...accounts, ...flags]
  const scheduler = ['scheduler', '--kubeconfig', keys.kubeconfig('scheduler', url), ...flags]
  return Promise.all([KeptProcess.start(manager, /controller manager is running/), KeptProcess.start(scheduler, /scheduler is running/)])
}

const urlOf = ({ endpoint }: CuttableProxy): string => `http://${endpoint}`

function addressOf({ endpoint }: CuttableProxy): { host: string; port: number } {
  const [host = '', port = ''] = endpoint.split(':')
  return { host, port: Number(port) }
}
