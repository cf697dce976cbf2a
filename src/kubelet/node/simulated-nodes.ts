/** Any number of nodes in this process, whose containers are simulated. */
import type { V1Taint } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Kubelet } from '#kubelet/node/kubelet.ts'
import { agentFeatures, type NodeDescription } from '#kubelet/node/node-object.ts'
import { PodFeed } from '#kubelet/node/pod-feed.ts'
import { simulatedNodeNames } from '#kubelet/node/simulated-node-names.ts'
import { AddressRange } from '#kubelet/runtimes/simulated/address-range.ts'
import { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'
import { SimulatedMounts } from '#kubelet/volumes/simulated-mounts.ts'

export type SimulatedNodesOptions = {
  count: number
  /** `sim-node` gives `sim-node-1`, `sim-node-2`, … */
  namePrefix?: string
  /** The number of the first node that is added later, where others in this cluster have numbers. */
  firstAdded?: number
  /** Sees all pods. */
  client: Client
  /** Speaks for one node. */
  clientOf(node: string): Client
  /** Waited for when a node is Ready. */
  onReady?(node: string): Promise<void>
  /** A node's `spec.podCIDR`, once it has one: where its pods get their addresses from. */
  podRangeOf?(node: string): string | undefined
  clock: Clock
  random: Random
  logger: Logger
  /** The version the nodes claim: `v1.36.4`. */
  version: string
}

/** What a simulated node is like, where it is not like all others. */
export type SimulatedShape = {
  cpu?: string
  memory?: string
  pods?: string
  labels?: Readonly<Record<string, string>>
  taints?: readonly V1Taint[]
}

const defaultCapacity = { cpu: '32', memory: '256Gi', 'ephemeral-storage': '1Ti', pods: '110' }
const registeredTogether = 16

export class SimulatedNodes {
  readonly #options: SimulatedNodesOptions
  readonly #pods: PodFeed
  readonly #agents = new Map<string, Kubelet>()
  /** Each node has addresses by its number, and a number is never given twice. */
  #nextIndex: number
  #isStopped = false
  readonly runtimes = new Map<string, SimulatedRuntime>()
  readonly #mounts: SimulatedMounts

  constructor(options: SimulatedNodesOptions) {
    this.#options = options
    this.#nextIndex = options.firstAdded ?? options.count
    const { client, clock, random, logger } = options
    this.#pods = new PodFeed({ client, clock, random, logger })
    this.#mounts = new SimulatedMounts({ client, clock, random, logger })
  }

  get names(): string[] {
    const { count, namePrefix } = this.#options
    return simulatedNodeNames(count, namePrefix)
  }

  /** Resolves when all nodes are Ready. When it fails or is aborted, nothing goes on. */
  async start(signal?: AbortSignal): Promise<void> {
    try {
      await this.#startAll(signal)
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async #startAll(signal: AbortSignal | undefined): Promise<void> {
    await Promise.race([this.#pods.start(), ...(signal === undefined ? [] : [aborted(signal)])])
    const left = [...this.names.entries()]
    const register = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        signal?.throwIfAborted()
        await this.#startNode(next[1], next[0])
      }
    }
    await Promise.all(Array.from({ length: registeredTogether }, register))
  }

  /** Nothing goes on after the call; resolves when what the nodes had told of their pods is written. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const agent of this.#agents.values()) agent.stop()
    for (const runtime of this.runtimes.values()) runtime.stop()
    this.#pods.stop()
    this.#mounts.stop()
    await Promise.all([...this.#agents.values()].map((agent) => agent.events[Symbol.asyncDispose]()))
  }

  /** One more node; resolves when it is Ready. */
  async add(name: string, shape: SimulatedShape = {}): Promise<void> {
    if (this.#agents.has(name)) return
    await this.#startNode(name, this.#nextIndex++, shape)
  }

  /** As if its machine had been switched off: the node object stays. Tells whether it was there. */
  remove(name: string): boolean {
    const agent = this.#agents.get(name)
    if (agent === undefined) return false
    agent.stop()
    this.#agents.delete(name)
    this.runtimes.get(name)?.stop()
    this.runtimes.delete(name)
    return true
  }

  async #startNode(name: string, index: number, shape: SimulatedShape = {}): Promise<void> {
    if (this.#isStopped) return
    const { clientOf, podRangeOf, clock, random, logger, version } = this.#options
    const runtime = new SimulatedRuntime({ clock, random, addresses: new AddressRange(podPrefix(index), () => podRangeOf?.(name)) })
    for (const pod of this.#pods.podsOn(name)) runtime.restore(pod)
    const node = describe(name, { index, kubeletVersion: version, containerRuntimeVersion: runtime.version, shape }, this.#mounts)
    const runtimeHelper = this.#mounts.helperOf(name, () => agent.checkNode())
    const agent: Kubelet = new Kubelet({
      ...{ client: clientOf(name), clock, random, logger, node, runtime, runtimeHelper, probes: runtime, pods: this.#pods },
    })
    this.runtimes.set(name, runtime)
    this.#agents.set(name, agent)
    await agent.start()
    await this.#options.onReady?.(name)
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** Pods of simulated nodes without a range of their own live in 100.64.0.0/10, which is nobody's: room for 16,384 nodes. */
const podPrefix = (index: number): string => `100.${64 + (index >> 8)}.${index & 255}`

/** The nodes themselves are in 198.18.0.0/15, which is for tests of networks. */
const nodeAddress = (index: number): string => `198.${18 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`

type Facts = { index: number; kubeletVersion: string; containerRuntimeVersion: string; shape: SimulatedShape }

function describe(
  name: string,
  { index, kubeletVersion, containerRuntimeVersion, shape }: Facts,
  mounts: SimulatedMounts,
): NodeDescription {
  const { labels = {}, taints = [], ...amounts } = shape
  const capacity = { ...defaultCapacity, ...amounts }
  return {
    name,
    addresses: [nodeAddress(index + 1)],
    capacity,
    allocatable: capacity,
    info: {
      ...{ machineId: name, kernelVersion: 'simulated', osImage: 'Simulated', containerRuntimeVersion, kubeletVersion },
      ...{ operatingSystem: 'linux', architecture: 'amd64' },
    },
    labels: { 'typernetes.dev/simulated': 'true', ...labels },
    taints,
    features: { supplementalGroupsPolicy: true },
    declaredFeatures: agentFeatures,
    // Asked for at each report: nothing else of the node changes.
    get volumesInUse() {
      return mounts.volumesInUse(name)
    },
  }
}
