/** Keeps a node joined to the network of pods: watches the other nodes, and changes what differs in the kernel. */

import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { backoffMs } from '#base/backoff.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import type { Informer } from '#client/informer/informer.ts'
import { birdConfig, meshPeers } from '#network/bgp/bird-config.ts'
import type { Bird } from '#network/bgp/bird-process.ts'
import { type CalicoBgp, calicoBgp } from '#network/calico/bgp-settings.ts'
import type { CalicoSource } from '#network/calico/calico-source.ts'
import { ipTool, type Link, type Route } from '#network/kernel/ip-tool.ts'
import { applyPlan } from '#network/pod-network/apply-plan.ts'
import { planOf, podMtu, wordsOf } from '#network/pod-network/backend-plan.ts'
import { chooseUplink, type UplinkWish } from '#network/pod-network/choose-uplink.ts'
import { annotationsOf, areSaid, peerOf } from '#network/pod-network/flannel-annotations.ts'
import type { NetConf } from '#network/pod-network/net-conf.ts'
import { emptyPlan, type Peer, type Plan, type Uplink } from '#network/pod-network/plan.ts'
import { forwarderSettings } from '#network/pod-network/udp.ts'
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
  uplink: UplinkWish
  /** Calico's objects, for the backend bgp; started and stopped by the caller. */
  calico?: CalicoSource
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
  #told = ''
  #follow: Disposable | undefined
  #waiting: (() => void)[] = []

  constructor(options: PodNetworkAgentOptions) {
    this.#options = options
  }

  /** What a pod's interface on this node should be like. */
  async mtu(podCidrs: readonly string[]): Promise<number> {
    return podMtu(this.#options.backend, await this.#uplink(), podCidrs)
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
    const own = self && peerOf(self)
    if (nodeName !== undefined && own === undefined) return
    const uplink = await this.#uplink()
    if (self !== undefined && own !== undefined) await this.#say(self, own, uplink)
    const others = all
      .filter(({ metadata }) => metadata.name !== nodeName)
      .map(peerOf)
      .filter((peer) => peer !== undefined)
    const hasTunnel = backend.type === 'bgp' && own !== undefined && this.#bgp(own).tunnelled.length > 0
    const plan = planOf({ ...backend, ipipMode: hasTunnel ? 'Always' : 'Never' }, uplink, own ?? nobody, others)
    if (backend.type !== 'udp') await this.#options.helpers?.forwarder.stop()
    await this.#apply(plan, uplink.interface)
    if (own !== undefined) await this.#tellHelpers(own, others, uplink)
    const problems = plan.problems.join('; ')
    if (problems !== this.#told && problems !== '') logger.info('pod network: some nodes are not reached', { problems: plan.problems })
    this.#told = problems
  }

  async #say(self: V1Node, own: Peer, uplink: Uplink): Promise<void> {
    const { backend, helpers } = this.#options
    const keys = backend.type === 'wireguard' ? await helpers?.wireguard.keys() : undefined
    const annotations = annotationsOf(wordsOf(backend, uplink, own, keys?.publicKey))
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
    const { asNumber, isMesh, peers, problems, ...told } = this.#bgp(own)
    const mesh = isMesh ? meshPeers(own, others, asNumber) : []
    const extra = peers.filter(({ address }) => !mesh.some((one) => one.address === address))
    await helpers.bird.tell(birdConfig({ ...told, asNumber, uplink, podCidrs, reflectorClusterId, peers: [...mesh, ...extra] }))
    if (problems.length > 0) this.#options.logger.warn('pod network: objects of Calico that cannot be used', { problems })
  }

  /** What Calico's objects say, or where there are none, the node's settings. */
  #bgp({ name, podCidrs }: Peer): CalicoBgp {
    const { calico, nodes, backend } = this.#options
    const all = nodes.list()
    const self = all.find(({ metadata }) => metadata.name === name)
    const none = { pools: [], peers: [], configurations: [] }
    const objects = calico?.list() ?? none
    const bgp = calicoBgp(objects, self ?? { metadata: { name }, spec: {} }, all)
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
