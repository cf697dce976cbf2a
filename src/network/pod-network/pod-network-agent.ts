/** Keeps a node joined to the network of pods: watches the other nodes, and changes what differs in the kernel. */

import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { backoffMs } from '#base/backoff.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { familyOf } from '#base/ip-range.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import type { Informer } from '#client/informer/informer.ts'
import { birdConfig, meshPeers } from '#network/bgp/bird-config.ts'
import type { Bird } from '#network/bgp/bird-process.ts'
import { blocksOf } from '#network/bgp/blocks.ts'
import { type CalicoBgp, calicoBgp, noCalicoObjects } from '#network/calico/bgp-settings.ts'
import type { CalicoSource } from '#network/calico/calico-source.ts'
import { blocksOfNode } from '#network/calico/pool-blocks.ts'
import { tunnelAnnotations } from '#network/calico/tunnel-annotations.ts'
import { vxlanPoolsPlan } from '#network/calico/vxlan-pools.ts'
import { ipTool, type Link, type Route } from '#network/kernel/ip-tool.ts'
import { applyPlan, NoSuchDevice } from '#network/pod-network/apply-plan.ts'
import { macsOf, planOf, podMtu, wordsOf } from '#network/pod-network/backend-plan.ts'
import { chooseUplink, type UplinkOptions } from '#network/pod-network/choose-uplink.ts'
import { annotationsOf, areSaid, peerOf } from '#network/pod-network/flannel-annotations.ts'
import { ipipOverhead, ipipPlan } from '#network/pod-network/ipip.ts'
import type { NetConf } from '#network/pod-network/net-conf.ts'
import { emptyPlan, joined, type Peer, type Plan, type Uplink } from '#network/pod-network/plan.ts'
import { forwarderSettings } from '#network/pod-network/udp.ts'
import { vxlanOverhead } from '#network/pod-network/vxlan.ts'
import { wireguardDevices } from '#network/pod-network/wireguard.ts'
import type { ForwarderProcess } from '#network/udp/forwarder-process.ts'
import type { WireguardTool } from '#network/wireguard/wireguard-tool.ts'

export type BackendHelpers = {
  /** Speaks to other nodes of routes: for bgp. */
  bird: Bird
  /** Carries packets: for udp. */
  forwarder: ForwarderProcess
  /** Keys and peers: for wireguard. */
  wireguard: WireguardTool
}

export type PodNetworkAgentOptions = {
  /** Absent where this is no node, but wants to reach the pods of those that are. */
  nodeName?: string
  /** Of all nodes; started and stopped by the caller. */
  nodes: Pick<Informer<V1Node>, 'list' | 'addHandler' | 'synced'>
  /** Speaks for the node. */
  client?: Client
  clock: Clock
  logger: Logger
  processes: Processes
  files: Files
  backend: NetConf['backend']
  uplink: UplinkOptions
  /** Calico's objects, where pods have addresses of her pools; started and stopped by the caller. */
  calico?: CalicoSource
  /** An address for this node's end of Calico's tunnels; undefined until there is one. */
  tunnelAddress?(): Promise<string | undefined>
  /** Programs that some backends need. */
  helpers?: BackendHelpers
  /** Where the devices that were made are written down, so that those of another backend are found at the next start. */
  stateFile: string
  /** A network namespace other than the process's own. */
  namespace?: string
}

const firstRetryMs = 500
const helperCheckMs = 5000
const longestRetryMs = 30_000

export class PodNetworkAgent {
  readonly #options: PodNetworkAgentOptions
  #made: Made | undefined
  #running: Promise<void> | undefined
  #isAsked = false
  #isOver = false
  #retry: Timer | undefined
  #check: Timer | undefined
  #failures = 0
  #loggedProblems = ''
  #hasNoIpip = false
  #follow: Disposable | undefined
  #waiting: (() => void)[] = []

  constructor(options: PodNetworkAgentOptions) {
    this.#options = options
  }

  /** What a pod's interface on this node should be like. */
  async mtu(podCidrs: readonly string[]): Promise<number> {
    const { backend, calico, nodeName: name = '' } = this.#options
    const uplink = await this.#uplink()
    if (backend.type !== 'bgp' || backend.mtu !== undefined) return podMtu(backend, uplink, podCidrs)
    await calico?.synced
    const { tunnelled, framed } = this.#bgp({ name, podCidrs, addresses: [] })
    return uplink.mtu - (framed.length > 0 ? vxlanOverhead.ipv4 : tunnelled.length > 0 ? ipipOverhead : 0)
  }

  start(): void {
    const { nodes } = this.#options
    const look = () => this.look()
    // Before all nodes are known, those that are not would be cut off.
    void Promise.all([nodes.synced, this.#options.calico?.synced]).then(() => {
      if (this.#isOver) return
      this.#options.calico?.onChange(look)
      this.#follow = nodes.addHandler({ onAdd: look, onUpdate: (next, prev) => isSamePeer(next, prev) || look(), onDelete: look })
      this.look()
      this.#check = this.#options.clock.every(helperCheckMs, () => void this.#lookAfterHelper())
    })
  }

  /** A program that has ended is started again by the next look. */
  async #lookAfterHelper(): Promise<void> {
    const { backend, helpers } = this.#options
    const helper = backend.type === 'bgp' ? helpers?.bird : backend.type === 'udp' ? helpers?.forwarder : undefined
    if (helper !== undefined && this.#made !== undefined && !(await helper.isRunning())) this.look()
  }

  /** Looks at what is, now or as soon as the look that goes on has ended. */
  look(): void {
    this.#isAsked = true
    if (this.#running !== undefined || this.#isOver) return
    this.#retry?.cancel()
    this.#running = this.#lookWhileAsked().finally(() => {
      this.#running = undefined
    })
  }

  /** Resolves after a look that found nothing to complain of. */
  async settled(): Promise<void> {
    const done = Promise.withResolvers<void>()
    this.#waiting.push(done.resolve)
    this.look()
    await done.promise
  }

  /** Leaves everything as it is: pods go on. */
  async stop(): Promise<void> {
    this.#isOver = true
    this.#follow?.[Symbol.dispose]()
    this.#retry?.cancel()
    this.#check?.cancel()
    await this.#running
  }

  async #lookWhileAsked(): Promise<void> {
    const { clock, logger } = this.#options
    while (this.#isAsked && !this.#isOver) {
      this.#isAsked = false
      try {
        await this.#sync()
        this.#failures = 0
        for (const resolve of this.#waiting.splice(0)) resolve()
      } catch (error) {
        const pauseMs = backoffMs(this.#failures++, { firstMs: firstRetryMs, longestMs: longestRetryMs })
        logger.warn('pod network: failed to connect the node to the others, retrying', { error: String(error), pauseMs })
        this.#retry = clock.after(pauseMs, () => this.look())
      }
    }
  }

  async #sync(): Promise<void> {
    const { nodes, nodeName, backend, logger } = this.#options
    const all = nodes.list()
    const self = all.find(({ metadata }) => metadata.name === nodeName)
    const own = self && this.#peerOf(self)
    if (nodeName !== undefined && own === undefined) return
    const uplink = await this.#uplink()
    const tunnelAddress = backend.type === 'bgp' ? await this.#options.tunnelAddress?.() : undefined
    if (self !== undefined && own !== undefined) await this.#say(self, own, uplink, tunnelAddress)
    const others = all
      .filter(({ metadata }) => metadata.name !== nodeName)
      .map((node) => this.#peerOf(node))
      .filter((peer) => peer !== undefined)
    if (backend.type !== 'udp') await this.#options.helpers?.forwarder.stop()
    const wanted = () =>
      backend.type === 'bgp' && own !== undefined
        ? this.#calicoPlan(uplink, own, others, tunnelAddress)
        : planOf(backend, uplink, own ?? nobody, others)
    let plan = wanted()
    try {
      await this.#apply(plan, uplink.interface)
    } catch (error) {
      if (!(error instanceof NoSuchDevice) || error.kind !== 'ipip') throw error
      this.#hasNoIpip = true
      const advice = 'packets between nodes go unwrapped, which works between neighbours only; vxlanMode of the IPPool wraps them too'
      logger.warn(`pod network: this kernel has no devices of type ipip (modprobe ipip): ${advice}`, { node: nodeName })
      plan = wanted()
      await this.#apply(plan, uplink.interface)
    }
    if (own !== undefined) await this.#tellHelpers(own, others, uplink)
    const problems = plan.problems.join('; ')
    if (problems !== this.#loggedProblems && problems !== '')
      logger.info('pod network: some nodes cannot be reached', { problems: plan.problems })
    this.#loggedProblems = problems
  }

  /** The node with the addresses of its pods: blocks of Calico's pools, or the range it has itself. */
  #peerOf(node: V1Node): Peer | undefined {
    const peer = peerOf(node)
    const blocks = this.#options.calico?.list().blocks
    if (peer === undefined || blocks === undefined || !this.#hasPools) return peer
    return { ...peer, podCidrs: blocksOfNode(blocks, peer.name) }
  }

  get #hasPools(): boolean {
    return (this.#options.calico?.list().pools.length ?? 0) > 0
  }

  #calicoPlan(uplink: Uplink, own: Peer, others: readonly Peer[], address: string | undefined): Plan {
    const { tunnelled, framed } = this.#bgp(own)
    const end = address === undefined ? undefined : { address, mac: macsOf(own.name).ipv4 }
    const ipip = tunnelled.length > 0 ? ipipPlan(uplink, own, address) : emptyPlan
    return joined(ipip, vxlanPoolsPlan(uplink, end, others, framed))
  }

  async #say(self: V1Node, own: Peer, uplink: Uplink, tunnelAddress: string | undefined): Promise<void> {
    const { backend, helpers } = this.#options
    const keys = backend.type === 'wireguard' ? await helpers?.wireguard.keys() : undefined
    const tunnels = backend.type === 'bgp' ? tunnelAnnotations(this.#bgp(own), tunnelAddress, macsOf(own.name).ipv4) : {}
    const annotations = { ...annotationsOf(wordsOf(backend, uplink, own, keys?.publicKey)), ...tunnels }
    if (areSaid(annotations, self)) return
    await this.#options.client?.patch(Node, { name: own.name }, { metadata: { annotations } }, { type: 'merge' })
  }

  async #tellHelpers(own: Peer, others: readonly Peer[], uplink: Uplink): Promise<void> {
    const { helpers, backend } = this.#options
    if (helpers === undefined) return
    if (backend.type !== 'bgp') await helpers.bird.stop()
    if (backend.type === 'udp') await helpers.forwarder.tell(forwarderSettings(uplink, others, backend.port))
    if (backend.type === 'wireguard') {
      const { privateKey } = await helpers.wireguard.keys()
      await helpers.wireguard.tell(wireguardDevices(uplink, own, others, backend, privateKey))
    }
    if (backend.type !== 'bgp') return
    const { podCidrs, reflectorClusterId } = own
    // Where there are no pools, pods have addresses of the node's range, which others are told of as if it were blocks.
    const blocks = this.#hasPools ? podCidrs : podCidrs.flatMap(blocksOf)
    const self = this.#options.nodes.list().find(({ metadata }) => metadata.name === own.name)
    const families = [...new Set((peerOf(self ?? { metadata: {}, spec: {} })?.podCidrs ?? podCidrs).map(familyOf))]
    const { asNumber, isMesh, peers, problems, ...settings } = this.#bgp(own)
    const mesh = isMesh ? meshPeers(own, others, asNumber) : []
    const extra = peers.filter(({ address }) => !mesh.some((one) => one.address === address))
    await helpers.bird.tell(birdConfig({ ...settings, asNumber, uplink, families, blocks, reflectorClusterId, peers: [...mesh, ...extra] }))
    if (problems.length > 0) this.#options.logger.warn('pod network: ignored invalid Calico objects', { problems })
  }

  /** What Calico's objects say, or where there are none, the node's settings. */
  #bgp({ name, podCidrs }: Peer): CalicoBgp {
    const { calico, nodes, backend } = this.#options
    const all = nodes.list()
    const self = all.find(({ metadata }) => metadata.name === name)
    const objects = calico?.list() ?? noCalicoObjects
    const bgp = calicoBgp(objects, self ?? { metadata: { name }, spec: {} }, all)
    if (this.#hasNoIpip) return { ...bgp, tunnelled: [] }
    if (objects.pools.length > 0 || backend.ipipMode === 'Never') return bgp
    const { ipipMode: mode } = backend
    // Without pools all pods are meant.
    return { ...bgp, tunnelled: podCidrs.some((cidr) => !cidr.includes(':')) ? [{ cidr: '0.0.0.0/0', mode }] : [] }
  }

  async #apply(plan: Plan, uplink: string): Promise<void> {
    const { processes, namespace, files, stateFile, logger } = this.#options
    this.#made ??= await readMade(stateFile, files)
    const devices = [...new Set([...this.#made.devices, ...plan.links.map(({ name }) => name)])]
    if (devices.length > this.#made.devices.length || uplink !== this.#made.uplink) {
      this.#made = { devices, uplink }
      await files.write(stateFile, JSON.stringify(this.#made))
    }
    const { ip, bridge } = await applyPlan(plan, { processes, namespace, ownDevices: devices, uplink })
    if (ip.length + bridge.length > 0) logger.debug('pod network: changed', { commands: [...ip, ...bridge] })
  }

  async #uplink(): Promise<Uplink> {
    const ip = ipTool(this.#options.processes, this.#options.namespace)
    const [links, routes] = await Promise.all([ip.show<Link>('address', 'show'), ip.show<Route>('route', 'show', 'default')])
    return chooseUplink(links, routes, this.#options.uplink)
  }
}

const nobody: Peer = { name: '', podCidrs: [], addresses: [] }

/** Nodes change every few seconds in ways that are no matter here. */
function isSamePeer(next: V1Node, prev: V1Node): boolean {
  // Calico's selectors go by labels, and a node may have a number of its own.
  const seen = (node: V1Node) =>
    JSON.stringify([peerOf(node), node.metadata.labels, node.metadata.annotations?.['projectcalico.org/ASNumber']])
  return seen(next) === seen(prev)
}

/** Takes away all that an agent has made. */
export async function leavePodNetwork(
  stateFile: string,
  { files, processes, namespace }: { files: Files; processes: Processes; namespace?: string },
): Promise<void> {
  const { devices, uplink } = await readMade(stateFile, files)
  if (uplink === '') return
  await applyPlan(emptyPlan, { processes, ownDevices: devices, uplink, namespace })
  await files.remove(stateFile)
}

/** What was made by agents of this node so far, whichever backend they had. */
type Made = { devices: string[]; uplink: string }

async function readMade(stateFile: string, files: Files): Promise<Made> {
  return JSON.parse((await files.readTextIfPresent(stateFile)) ?? '{"devices":[],"uplink":""}')
}
