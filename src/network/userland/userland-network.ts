/**
 * A network for who may not change the machine's: namespaces of its own, and a thread that has stayed in the machine's.
 *
 *   node (this thread, pods) ── veth ── gateway ── redirected to sockets ──> thread in the machine's network ──> outside
 *
 * TCP and DNS get out, other packets do not: the thread makes connections, and no packets. Nothing gets in but what `listen` takes.
 */
import type { Logger } from '#base/log.ts'
import { boundSocket, networkNamespaces } from '#base/network-namespaces.ts'
import type { Processes } from '#base/processes.ts'
import type { SocketAddress } from '#base/sockets.ts'
import { startThread, type Thread } from '#base/worker.ts'
import { ipTool } from '#network/kernel/ip-tool.ts'
import type { FromUserland, ToUserland } from '#network/userland/userland-messages.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'

export type UserlandNetwork = AsyncDisposable & {
  /** A socket that listens at the machine itself; its descriptor. Rejects with the code of the kernel (`EADDRINUSE`). */
  listen(at: SocketAddress): Promise<number>
}

export type UserlandOptions = {
  /** The process whose network the node's is; absent: a new one. */
  of?: number | undefined
  /** Of the machine's network. */
  nameServers: readonly string[]
  /** This process, as others name it. */
  pid: number
}

/** Meant for benchmarks of networks: no machine has addresses of that range that one would want to reach. */
const range = { gateway: '198.18.0.1', node: '198.18.0.2', prefix: 30 }
/** What pods and the node ask for names. */
export const userlandNameServer = range.gateway
/** By which the node is known. */
export const userlandNodeAddress = range.node
const uplink = 'uplink'
const ports = { tcp: 1, udp: 2 }

/** Moves this thread, and what it starts from now on, into the network. To be called before anything else has made sockets. */
export async function enterUserlandNetwork(
  { of, nameServers, pid }: UserlandOptions,
  { processes, logger }: { processes: Processes; logger: Logger },
): Promise<UserlandNetwork> {
  // Started first: it stays where we are now.
  const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'
  const thread = startThread<ToUserland, FromUserland>(new URL(`./userland-thread.${extension}`, import.meta.url))
  thread.release()
  networkNamespaces.enterNew()
  const gateway = networkNamespaces.openOwn()
  const [tcp, udp] = [boundSocket('tcp', { host: '0.0.0.0', port: ports.tcp }), boundSocket('udp', { host: '0.0.0.0', port: ports.udp })]
  if (of === undefined) networkNamespaces.enterNew()
  else enterOf(of)
  thread.post({ kind: 'serve', tcp, udp, ownAddress: range.gateway, nameServers })
  await layUplink(`/proc/${pid}/fd/${gateway}`, processes, logger)
  return { listen: listenerOf(thread), [Symbol.asyncDispose]: () => thread.stop() }
}

/** For who looks after what runs in the network, and needs nothing of the outside. */
export function enterOf(pid: number): void {
  const descriptor = networkNamespaces.openOf(pid)
  try {
    networkNamespaces.enter(descriptor)
  } finally {
    networkNamespaces.close(descriptor)
  }
}

async function layUplink(gateway: string, processes: Processes, logger: Logger): Promise<void> {
  const { gateway: there, node, prefix } = range
  await ipTool(processes).try([`link delete ${uplink}`])
  await ipTool(processes).change([
    'link set lo up',
    `link add ${uplink} type veth peer name node netns ${gateway}`,
    `address add ${node}/${prefix} dev ${uplink}`,
    `link set ${uplink} up`,
  ])
  await ipTool(processes, gateway).change([
    'link set lo up',
    `address add ${there}/${prefix} dev node`,
    'link set node up',
    `route add default via ${node}`,
  ])
  await ipTool(processes).change([`route replace default via ${there}`])
  const nft = nftProgram(processes, ['nsenter', `--net=${gateway}`, 'nft'])
  await nft.apply(redirects)
  // Kernels before 5.9 cannot refuse so early: packets are lost without a word there.
  await nft.apply(refusals).catch((error: unknown) => logger.debug('failed to refuse packets to the outside', { error: String(error) }))
  nft.close()
}

const redirects = `
table ip outside {
  chain lead_out {
    type nat hook prerouting priority -100; policy accept;
    udp dport 53 redirect to :${ports.udp}
    ip daddr ${range.gateway} tcp dport 53 redirect to :${ports.tcp}
    ip daddr ${range.gateway} accept
    meta l4proto tcp redirect to :${ports.tcp}
  }
}
`
const refusals = `
table ip outside {
  chain refuse_rest {
    type filter hook prerouting priority 0; policy accept;
    ip daddr ${range.gateway} accept
    reject with icmp type admin-prohibited
  }
}
`

function listenerOf(thread: Thread<ToUserland, FromUserland>): UserlandNetwork['listen'] {
  const waiting = new Map<number, PromiseWithResolvers<number>>()
  let last = 0
  thread.onMessage((answer) => {
    const asked = waiting.get(answer.id)
    waiting.delete(answer.id)
    if ('descriptor' in answer) asked?.resolve(answer.descriptor)
    else asked?.reject(Object.assign(new Error(answer.message), { code: answer.code }))
  })
  thread.onExit((error) => {
    for (const { reject } of waiting.values()) reject(error ?? new Error('the thread of the network has ended'))
  })
  return (at) => {
    const asked = Promise.withResolvers<number>()
    waiting.set(++last, asked)
    thread.post({ kind: 'listen', id: last, ...at })
    return asked.promise
  }
}
