/** What befalls a cluster while clients write down what they see. */
import type { Random } from '#base/random.ts'
import type { CuttableProxy } from '../contracts/cuttable-proxy.ts'
import type { HistoryCluster, HistoryServer } from './history-cluster.ts'

type Fault = (cluster: HistoryCluster, random: Random) => Promise<unknown>

/** One at a time: of three etcd servers two must be there for anything to be acknowledged. */
export const breakages = {
  async apiServerKilled({ servers }, random) {
    await oneOf(servers, random).process.restart('SIGKILL')
  },
  async etcdKilled({ etcd }, random) {
    const member = random.int(etcd.endpoints.length)
    await etcd.kill(member)
    await sleep(random.int(500))
    await etcd.start(member)
  },
  /** It comes to itself with timers that are long over, and connections that others gave up. */
  async apiServerStopped({ servers }, random) {
    const { process } = oneOf(servers, random)
    process.signal('SIGSTOP')
    await sleep(200 + random.int(1500))
    process.signal('SIGCONT')
  },
  /** The server writes, and never hears of it; then it is cut off altogether. */
  async storeAnswersLost({ servers }, random) {
    const { storeLinks } = oneOf(servers, random)
    for (const link of storeLinks) void link.swallowAnswers()
    await sleep(100 + random.int(400))
    await cutFor(storeLinks, random.int(600))
  },
  async managerKilled({ managers }, random) {
    await oneOf(managers, random).restart('SIGKILL')
  },
  /** What it sends the others no longer arrives; what they send does. */
  async peerCut({ etcd }, random) {
    await cutFor([oneOf(etcd.peerLinks, random)], 300 + random.int(2500))
  },
  /** Often it leads: the others choose another, and it still thinks that it is the one. */
  async etcdStopped({ etcd }, random) {
    const member = random.int(etcd.endpoints.length)
    etcd.signal(member, 'SIGSTOP')
    await sleep(300 + random.int(2500))
    etcd.signal(member, 'SIGCONT')
  },
  /** Requests and answers come much later, after whoever waited for them has given up. */
  async clientsHeld({ servers }, random) {
    const link = oneOf(oneOf(servers, random).clientLinks, random)
    link.hold()
    await sleep(500 + random.int(4000))
    link.heal()
  },
  async storeHeld({ servers }, random) {
    const link = oneOf(oneOf(servers, random).storeLinks, random)
    link.hold()
    await sleep(500 + random.int(2000))
    link.heal()
  },
  async clientsCut({ servers }, random) {
    await cutFor([oneOf(oneOf(servers, random).clientLinks, random)], random.int(500))
  },
  /** It ends what it has begun, while clients still come. */
  async apiServerEnded({ servers }, random) {
    await oneOf(servers, random).process.restart('SIGTERM')
  },
} satisfies Record<string, Fault>

/** Beside all that: a link between clients and servers, servers and etcd, or etcd servers is slow for a while. */
export async function slowOne({ servers, etcd }: HistoryCluster, random: Random): Promise<'clients' | 'store' | 'peers'> {
  const kind = (['clients', 'store', 'peers'] as const)[random.int(3)] ?? 'clients'
  const server = oneOf(servers, random)
  const links = { clients: [oneOf(server.clientLinks, random)], store: server.storeLinks, peers: [oneOf(etcd.peerLinks, random)] }[kind]
  const pace = { delayMs: 5 + random.int(250), bytesPerSecond: 8000 << random.int(6) }
  for (const link of links) link.slow(pace)
  await sleep(1000 + random.int(4000))
  for (const link of links) link.heal()
  return kind
}

export function healAll({ servers, etcd }: HistoryCluster): void {
  const all = (server: HistoryServer) => [...server.storeLinks, ...server.clientLinks]
  for (const link of [...servers.flatMap(all), ...etcd.peerLinks]) link.heal()
}

async function cutFor(links: readonly CuttableProxy[], ms: number): Promise<void> {
  for (const link of links) link.cut()
  await sleep(ms)
  for (const link of links) link.heal()
}

const oneOf = <T>(items: readonly T[], random: Random): T => items[random.int(items.length)] as T

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
