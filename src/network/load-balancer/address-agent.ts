import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Service } from '#api/core/v1/kinds.gen.ts'
import {
  loadBalancerBeatMs,
  loadBalancerLeaseName,
  loadBalancerLeaseNamespace,
  loadBalancerLifeSeconds,
} from '#api/core/v1/load-balancer-lease.ts'
import { loadBalancerNodeAnnotation } from '#api/core/v1/load-balancer-node.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { canonicalIp } from '#api/meta/ip.ts'
import { isNotFound } from '#api/meta/server-response.ts'
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

/** How long others have to take over what a node that stops gives up. */
const handOverMs = 3000
const handOverCheckMs = 100
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
  let isOver = false
  /** How long the kernel keeps an address that nobody confirms; undefined: for ever. */
  let lifeSeconds: number | undefined
  const isHeld = ({ address, link }: HeldAddress) => held?.some((one) => one.address === address && one.link === link) ?? false
  let changing: Promise<unknown> = Promise.resolve()
  /** One change of the node's addresses at a time: what is confirmed or told of again may not come back after it was removed. */
  const exclusively = (change: () => Promise<void>): Promise<void> => {
    const changed = changing.then(change)
    changing = changed.catch(() => {})
    return changed
  }

  const wantedAddresses = (): string[] =>
    services
      .list()
      .filter(({ metadata }) => metadata.annotations?.[loadBalancerNodeAnnotation] === nodeName)
      .flatMap(({ status }) =>
        (status?.loadBalancer?.ingress ?? []).flatMap(({ ip: address, ipMode }) =>
          // As the kernel shows it, and nothing but an address.
          address && ipMode !== 'Proxy' ? (canonicalIp(address) ?? []) : [],
        ),
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
    lifeSeconds = hasRivals ? loadBalancerLifeSeconds : undefined
    await ip.try(gone.map(removeCommand))
    // The kernel drops what nobody confirms: a node that lost its agent, or the API, does not answer for what others have by now.
    await ip.change(next.map((one) => addCommand(one, lifeSeconds)))
    held = next
    if (gone.length > 0) await files.write(statePath, JSON.stringify(next))
    for (const one of added)
      void announce(one, links).catch((error: unknown) =>
        logger.warn('failed to announce LoadBalancer address', { node: nodeName, address: one.address, error: errorMessage(error) }),
      )
    if (held.length > 0 && hasRivals && !isOver) {
      if (confirmation === undefined) beat()
      confirmation ??= clock.every(loadBalancerBeatMs, beat)
    } else {
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
    ...{ clock, minMs: 100, maxMs: syncMs, run: () => exclusively(bringAbout) },
    onFailure: (error, retryMs) =>
      logger.warn('failed to keep LoadBalancer addresses on the node, retrying', { node: nodeName, retryMs, error: errorMessage(error) }),
  })

  const lease = { namespace: loadBalancerLeaseNamespace, name: loadBalancerLeaseName(nodeName) }
  let beating: Promise<void> = Promise.resolve()
  const beat = () => {
    if (!isOver) beating = confirm()
  }
  /** Says that the node still answers; as long as that is heard, the addresses stay. */
  const confirm = async () => {
    const renewTime = `${new Date(clock.now()).toISOString().slice(0, -1)}000Z`
    const spec = { holderIdentity: nodeName, leaseDurationSeconds: loadBalancerLifeSeconds, renewTime }
    try {
      await client.patch(Lease, lease, { spec }, { type: 'merge' }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error
        return client.create(Lease, { metadata: lease, spec })
      })
      // Once it is over, what others remove stays away.
      await exclusively(async () => {
        if (!isOver) await ip.change((held ?? []).map((one) => addCommand(one, loadBalancerLifeSeconds)))
      })
    } catch (error) {
      logger.debug('failed to confirm LoadBalancer addresses', { node: nodeName, error: errorMessage(error) })
    }
  }

  /** Lets another node take over, and has nothing more to do with what it has taken. */
  const handOver = async () => {
    await client.delete(Lease, lease)
    const untilMs = clock.monotonic() + handOverMs
    const isOurs = () => wantedAddresses().length > 0
    while (isOurs() && clock.monotonic() < untilMs) await clock.sleep(handOverCheckMs)
    if (!isOurs()) await exclusively(bringAbout)
  }

  /**
   * Neighbours that know another node for it learn the new one. Several times, since they believe nobody within a second of the last change, and
   * may ask just while the other node still answers.
   */
  const announce = async (one: HeldAddress, links: readonly Link[]) => {
    logger.info('announcing LoadBalancer address', { node: nodeName, address: one.address, link: one.link })
    const isIpv6 = familyOf(one.address) === 'IPv6'
    for (let round = 0; round < announcements; round++) {
      if (round > 0) await clock.sleep(betweenMs)
      if (isOver || !isHeld(one)) return
      if (!isIpv6) await askAsSender(one, links)
      // The kernel has told of it when it was added.
      else if (round > 0) await exclusively(() => tellAgain(one))
    }
  }

  /** IPv4: a question that carries the address as its sender's. Each for another host, since what was asked a moment ago is not asked again. */
  const askAsSender = async ({ address, link }: HeldAddress, links: readonly Link[]) => {
    const near = links
      .find(({ ifname }) => ifname === link)
      ?.addr_info?.find(({ family, prefixlen }) => family === 'inet' && prefixlen < 30)
    if (near === undefined) return
    const size = 1n << BigInt(32 - near.prefixlen)
    const last = addressNumber(near.local) - (addressNumber(near.local) % size) + size - 2n
    const socket = await options.sockets.bindUdp({ host: address, port: 0 }, () => {})
    socket.send(new Uint8Array(1), { host: addressText(last - (BigInt(asked++ % askedHosts) % (size - 3n)), 'IPv4'), port: discardPort })
    await clock.sleep(sendingMs)
    socket.close()
  }

  /** IPv6: the kernel tells of an address when it gets it, and only then. Packets for services are translated before it is looked for. */
  const tellAgain = async (one: HeldAddress) => {
    if (isOver || !isHeld(one)) return
    await ip.try([removeCommand(one)])
    await options.processes.run('sh', ['-c', addAndNotify, one.link, one.address])
    await ip.change([addCommand(one, lifeSeconds)])
  }

  const request = () => loop.request()
  services.addHandler({ onAdd: request, onUpdate: request, onDelete: request })
  // What an earlier run has left stays until everything is known.
  const begin = services.synced.then(() => loop.request())
  services.start()
  return {
    async stop() {
      isOver = true
      const hasRivals = confirmation !== undefined
      confirmation?.cancel()
      await Promise.race([begin, Promise.resolve()])
      await loop.stop()
      // A lease that is written just now would be there again after it was given up; an API that does not answer is not waited for.
      await Promise.race([beating, clock.sleep(handOverMs)])
      await changing
      // Where the API server is gone too, the addresses go with their time.
      if (hasRivals)
        await handOver().catch((error: unknown) =>
          logger.debug('failed to hand over LoadBalancer addresses', { node: nodeName, error: errorMessage(error) }),
        )
      services.stop()
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
