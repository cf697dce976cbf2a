/** Any number of nodes in this process, whose containers are simulated. */
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
  /** Sees all pods. */
  client: Client
  /** Speaks for one node. */
  clientOf(node: string): Client
  clock: Clock
  random: Random
  logger: Logger
  /** The version the nodes claim: `v1.36.4`. */
  version: string
}

const capacity = { cpu: '32', memory: '256Gi', 'ephemeral-storage': '1Ti', pods: '110' }
const registeredTogether = 16

export class SimulatedNodes {
  readonly #options: SimulatedNodesOptions
  readonly #pods: PodFeed
  readonly #agents: Kubelet[] = []
  #isStopped = false
  readonly runtimes = new Map<string, SimulatedRuntime>()
  readonly #mounts: SimulatedMounts

  constructor(options: SimulatedNodesOptions) {
    this.#options = options
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
      this.stop()
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

  stop(): void {
    this.#isStopped = true
    for (const agent of this.#agents) agent.stop()
    for (const runtime of this.runtimes.values()) runtime.stop()
    this.#pods.stop()
    this.#mounts.stop()
  }

  async #startNode(name: string, index: number): Promise<void> {
    if (this.#isStopped) return
    const { clientOf, clock, random, logger, version } = this.#options
    const runtime = new SimulatedRuntime({ clock, random, addresses: new AddressRange(podPrefix(index)) })
    for (const pod of this.#pods.podsOn(name)) runtime.restore(pod)
    const node = describe(name, index, version, runtime.version, this.#mounts)
    const runtimeHelper = this.#mounts.helperOf(name, () => agent.checkNode())
    const agent: Kubelet = new Kubelet({
      ...{ client: clientOf(name), clock, random, logger, node, runtime, runtimeHelper, probes: runtime, pods: this.#pods },
    })
    this.runtimes.set(name, runtime)
    this.#agents.push(agent)
    await agent.start()
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** Pods of simulated nodes live in 100.64.0.0/10, which is nobody's: room for 16,384 nodes. */
const podPrefix = (index: number): string => `100.${64 + (index >> 8)}.${index & 255}`

/** The nodes themselves are in 198.18.0.0/15, which is for tests of networks. */
const nodeAddress = (index: number): string => `198.${18 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`

function describe(
  name: string,
  index: number,
  kubeletVersion: string,
  containerRuntimeVersion: string,
  mounts: SimulatedMounts,
): NodeDescription {
  return {
    name,
    addresses: [nodeAddress(index + 1)],
    capacity,
    allocatable: capacity,
    info: {
      ...{ machineId: name, kernelVersion: 'simulated', osImage: 'Simulated', containerRuntimeVersion, kubeletVersion },
      ...{ operatingSystem: 'linux', architecture: 'amd64' },
    },
    labels: { 'typernetes.dev/simulated': 'true' },
    features: { supplementalGroupsPolicy: true },
    declaredFeatures: agentFeatures,
    // Asked for at each report: nothing else of the node changes.
    get volumesInUse() {
      return mounts.volumesInUse(name)
    },
  }
}
