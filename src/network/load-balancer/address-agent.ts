import { Service } from '#api/core/v1/kinds.gen.ts'
import { loadBalancerNodeAnnotation } from '#api/core/v1/load-balancer-node.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { addressNumber, addressText, familyOf } from '#base/ip-range.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import type { Sockets } from '#base/sockets.ts'
import { SyncLoop } from '#base/sync-loop.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { ipTool, type Link, type Route } from '#network/kernel/ip-tool.ts'
import { addCommand, type HeldAddress, linkFor, removeCommand } from '#network/load-balancer/address-plan.ts'

export type AddressAgentOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  files: Files
  processes: Processes
  sockets: Sockets
  nodeName: string
  /** What it has added to the node, for the next run and for those who tidy up. */
  statePath: string
}

/** The kernel drops an address that nobody has confirmed for so long: a node that lost its agent, or the API, does not answer for what others have by now. */
const lifeSeconds = 45
const confirmMs = 15_000
const syncMs = 300_000
/**
 * The kernel tells its neighbours of an address of IPv6 that it gets, where it is told to; but not of one for which it was told not to ask whether
 * somebody has it. So the link is told not to ask, for as long as it takes.
 */
const addAndNotify =
  'cd "/proc/sys/net/ipv6/conf/$0" && echo 1 > ndisc_notify && asks=$(cat accept_dad) && echo 0 > accept_dad && ip address replace "$1/128" dev "$0"; result=$?; echo "$asks" > accept_dad; exit $result'
const announcements = 3
const betweenMs = 1100
const sendingMs = 100
/** Of the network's last ones: whether or not they are there. */
const askedHosts = 32
/** Where nobody listens: what is sent there is not meant to arrive. */
const discardPort = 9

/**
 * Answers for the addresses of load balancers that are this node's, on one node. The kernel itself answers ARP and NDP for addresses that it has; services
 * are the work of the service proxy.
 */
export function runAddressAgent(options: AddressAgentOptions): { stop(): Promise<void> } {
  const { client, clock, random, logger, files, nodeName, statePath } = options
  const ip = ipTool(options.processes)
  const services = new Informer<V1Service>({
    client,
    clock,
    random,
    logger,
    kind: Service,
    fieldSelector: 'spec.type=LoadBalancer',
    forgetsManagers: true,
  })
  let held: HeldAddress[] | undefined
  let confirmation: Timer | undefined
  let asked = 0

  const wantedAddresses = (): string[] =>
    services
      .list()
      .filter(({ metadata }) => metadata.annotations?.[loadBalancerNodeAnnotation] === nodeName)
      .flatMap(({ status }) =>
        (status?.loadBalancer?.ingress ?? []).flatMap(({ ip: address, ipMode }) => (address && ipMode !== 'Proxy' ? [address] : [])),
      )

  const bringAbout = async () => {
    held ??= await readHeld(statePath, files)
    const wanted = [...new Set(wantedAddresses())].sort()
    if (wanted.length === 0 && held.length === 0) return
    const links = await ip.show<Link>('address', 'show')
    const uplink = await uplinkOf(ip)
    const next = wanted.flatMap((address) => {
      const link =
        held?.find((one) => one.address === address && links.some(({ ifname }) => ifname === one.link))?.link ??
        linkFor(address, links, uplink)
      return link === undefined ? [] : [{ address, link }]
    })
    const isThere = ({ address, link }: HeldAddress) =>
      links.some(({ ifname, addr_info = [] }) => ifname === link && addr_info.some(({ local }) => local === address))
    const gone = held.filter((one) => isThere(one) && !next.some(({ address, link }) => address === one.address && link === one.link))
    const added = next.filter((one) => !isThere(one))
    // Before anything is added, so that whoever tidies up knows of it.
    if (JSON.stringify(next) !== JSON.stringify(held)) await files.write(statePath, JSON.stringify(mergedHeld(held, next)))
    for (const { address, link } of added)
      if (familyOf(address) === 'IPv6') await options.processes.run('sh', ['-c', addAndNotify, link, address])
    const hasRivals = await hasSeveralNodes()
    await ip.try(gone.map(removeCommand))
    await ip.change(next.map((one) => addCommand(one, hasRivals ? lifeSeconds : undefined)))
    held = next
    if (gone.length > 0) await files.write(statePath, JSON.stringify(next))
    for (const one of added)
      void announce(one, links).catch((error: unknown) => logger.debug('an address could not be announced', { error: errorMessage(error) }))
    if (held.length > 0 && hasRivals) confirmation ??= clock.every(confirmMs, () => void confirm())
    else {
      confirmation?.cancel()
      confirmation = undefined
    }
  }

  /** Without another node nobody else can have an address by now. */
  const hasSeveralNodes = async (): Promise<boolean> => {
    const { items = [] } = JSON.parse(await client.raw('/api/v1/nodes?limit=2')) as { items?: unknown[] }
    return items.length > 1
  }

  const loop = new SyncLoop({
    ...{ clock, minMs: 100, maxMs: syncMs, run: bringAbout },
    onFailure: (error, retryMs) =>
      logger.warn('failed to hold the addresses of load balancers, retrying', { node: nodeName, retryMs, error: errorMessage(error) }),
  })

  /** As long as the API says that they are ours. */
  const confirm = async () => {
    try {
      await client.raw('/readyz')
      loop.request()
    } catch (error) {
      logger.debug('addresses of load balancers are not confirmed: the API server does not answer', { error: errorMessage(error) })
    }
  }

  /**
   * Neighbours that know another node for it learn the new one from a question that carries the address as its sender's. Several, since they believe
   * nobody within a second of the last change; each for another host, since what was asked a moment ago is not asked again.
   */
  const announce = async (one: HeldAddress, links: readonly Link[]) => {
    const { address, link } = one
    logger.info('answering for the address of a load balancer', { node: nodeName, address, link })
    if (familyOf(address) === 'IPv6') return
    const near = links
      .find(({ ifname }) => ifname === link)
      ?.addr_info?.find(({ family, prefixlen }) => family === 'inet' && prefixlen < 30)
    if (near === undefined) return
    const size = 1n << BigInt(32 - near.prefixlen)
    const last = addressNumber(near.local) - (addressNumber(near.local) % size) + size - 2n
    for (let round = 0; round < announcements && held?.includes(one); round++) {
      if (round > 0) await clock.sleep(betweenMs)
      const socket = await options.sockets.bindUdp({ host: address, port: 0 }, () => {})
      socket.send(new Uint8Array(1), { host: addressText(last - (BigInt(asked++ % askedHosts) % (size - 3n)), 'IPv4'), port: discardPort })
      await clock.sleep(sendingMs)
      socket.close()
    }
  }

  const request = () => loop.request()
  services.addHandler({ onAdd: request, onUpdate: request, onDelete: request })
  // What an earlier run has left stays until everything is known.
  const begin = services.synced.then(() => loop.request())
  services.start()
  return {
    async stop() {
      services.stop()
      confirmation?.cancel()
      await Promise.race([begin, Promise.resolve()])
      await loop.stop()
    },
  }
}

async function uplinkOf(ip: ReturnType<typeof ipTool>): Promise<string | undefined> {
  const routes = await ip.show<Route>('route', 'show', 'default')
  return routes.find(({ dst }) => dst === 'default')?.dev
}

async function readHeld(path: string, files: Files): Promise<HeldAddress[]> {
  const text = await files.readTextIfPresent(path)
  return text === undefined ? [] : (JSON.parse(text) as HeldAddress[])
}

const mergedHeld = (before: readonly HeldAddress[], next: readonly HeldAddress[]): HeldAddress[] => [
  ...next,
  ...before.filter((one) => !next.some(({ address, link }) => address === one.address && link === one.link)),
]

/** Leaves no address behind. */
export async function removeHeldAddresses(statePath: string, { files, processes }: { files: Files; processes: Processes }): Promise<void> {
  const held = await readHeld(statePath, files)
  if (held.length > 0) await ipTool(processes).try(held.map(removeCommand))
  await files.remove(statePath)
}
