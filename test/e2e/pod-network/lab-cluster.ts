/** Agents of the pods' network on the nodes of a lab, and the nodes as an API server would tell them of. */
import { join } from 'node:path'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { type Logger, silentLogger } from '#base/log.ts'

import { nodeProcesses } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import type { InformerHandler } from '#client/informer/informer.ts'
import { forwarderProgram } from '#cmd/forward/forwarder-program.ts'
import { Bird } from '#network/bgp/bird-process.ts'
import { type CalicoObjects, noCalicoObjects } from '#network/calico/bgp-settings.ts'
import { type BackendType, defaultBackend, type NetConf } from '#network/pod-network/net-conf.ts'
import { type BackendHelpers, leavePodNetwork, PodNetworkAgent } from '#network/pod-network/pod-network-agent.ts'
import { ForwarderProcess } from '#network/udp/forwarder-process.ts'
import { WireguardTool } from '#network/wireguard/wireguard-tool.ts'
import type { LabNode, NetworkLab } from '../../support/network-lab.ts'

export class LabCluster implements AsyncDisposable {
  readonly #lab: NetworkLab
  readonly #nodes = new Map<string, V1Node>()
  readonly #handlers = new Set<InformerHandler<V1Node>>()
  readonly #agents = new Map<string, PodNetworkAgent>()

  /** Calico's objects, as an API server would tell of them. */
  calico: CalicoObjects = noCalicoObjects

  /** Of nodes, for their ends of Calico's tunnels. */
  tunnelAddresses: Readonly<Record<string, string>> = {}

  constructor(lab: NetworkLab, { families = 2 } = {}) {
    this.#lab = lab
    for (const { name, podCidrs } of lab.nodes) {
      this.#nodes.set(name, { metadata: { name }, spec: { podCIDRs: podCidrs.slice(0, families) } } as V1Node)
    }
  }

  async start(
    type: BackendType,
    settings: Partial<NetConf['backend']> = {},
    names = this.#lab.nodes.map(({ name }) => name),
    logger: Logger = silentLogger,
  ): Promise<void> {
    for (const node of this.#lab.nodes.filter(({ name }) => names.includes(name))) {
      const agent = new PodNetworkAgent({
        nodeName: node.name,
        nodes: {
          synced: Promise.resolve(),
          list: () => [...this.#nodes.values()],
          addHandler: (handler) => {
            this.#handlers.add(handler)
            return { [Symbol.dispose]: () => this.#handlers.delete(handler) }
          },
        },
        client: { patch: (_: unknown, { name }: { name: string }, patch: V1Node) => this.#annotate(name, patch) } as unknown as Client,
        ...{ clock: systemClock, logger, processes: nodeProcesses, files: nodeFiles },
        backend: { ...defaultBackend(type), ...settings },
        uplink: {},
        ...this.#place(node),
        helpers: this.#helpers(node),
        tunnelAddress: async () => this.tunnelAddresses[node.name],
        calico: { list: () => this.calico, synced: Promise.resolve(), onChange: () => {}, stop: () => {} },
      })
      agent.start()
      this.#agents.set(node.name, agent)
    }
    await this.settled()
  }

  /** Resolves with what the first agent complains of. */
  async startWithProblem(type: BackendType): Promise<string> {
    const complaint = Promise.withResolvers<string>()
    const logger = { ...silentLogger, warn: (_: string, { error }: Record<string, unknown> = {}) => complaint.resolve(String(error)) }
    void this.start(type, {}, ['n1'], logger)
    return complaint.promise
  }

  /** Twice: what one says in its first look, the others see in their second. */
  async settled(): Promise<void> {
    for (const _ of [1, 2]) await Promise.all([...this.#agents.values()].map((agent) => agent.settled()))
  }

  async stop(name?: string): Promise<void> {
    for (const [own, agent] of this.#agents) if (name === undefined || own === name) await agent.stop()
    if (name === undefined) this.#agents.clear()
    else this.#agents.delete(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    for (const node of this.#lab.nodes) await this.#stopHelpers(node)
  }

  /** A node leaves the cluster. */
  async remove(name: string): Promise<void> {
    const node = this.#nodes.get(name) as V1Node
    this.#nodes.delete(name)
    for (const handler of this.#handlers) handler.onDelete?.(node)
    await this.stop(name)
    await this.settled()
  }

  /** Somebody writes on a node. */
  annotate(name: string, annotations: Record<string, string>): Promise<void> {
    return this.#annotate(name, { metadata: { annotations } } as V1Node)
  }

  annotationsOf(name: string): Record<string, string> {
    return this.#nodes.get(name)?.metadata.annotations ?? {}
  }

  async leave(): Promise<void> {
    await this.stop()
    for (const node of this.#lab.nodes) {
      const { stateFile, namespace } = this.#place(node)
      await this.#stopHelpers(node)
      await leavePodNetwork(stateFile, { files: nodeFiles, processes: nodeProcesses, namespace })
    }
  }

  #helpers(node: LabNode): BackendHelpers {
    const { namespace } = this.#place(node)
    const place = {
      ...{ directory: join(this.#lab.directory, node.name), namespace },
      ...{ files: nodeFiles, processes: nodeProcesses, clock: systemClock },
    }
    return {
      bird: new Bird(place),
      forwarder: new ForwarderProcess({ ...place, program: forwarderProgram() }),
      wireguard: new WireguardTool(place),
    }
  }

  async #stopHelpers(node: LabNode): Promise<void> {
    const { bird, forwarder } = this.#helpers(node)
    await bird.stop()
    await forwarder.stop()
  }

  #place({ name, namespace }: LabNode): { stateFile: string; namespace: string } {
    return { stateFile: join(this.#lab.directory, `${name}.json`), namespace: `/run/netns/${namespace}` }
  }

  async #annotate(name: string, { metadata }: V1Node): Promise<void> {
    const prev = this.#nodes.get(name) as V1Node
    const said = Object.entries({ ...prev.metadata.annotations, ...metadata.annotations }).filter(([, value]) => value !== null)
    const next = { ...prev, metadata: { ...prev.metadata, annotations: Object.fromEntries(said) } }
    this.#nodes.set(name, next)
    for (const handler of this.#handlers) handler.onUpdate?.(next, prev)
  }
}

/** The pods that a pod cannot reach, by both families unless said. With little patience a busy machine's late answers are missed. */
export async function unreached(lab: NetworkLab, { families = 2, sizeBytes = 56, patienceSeconds = 1 } = {}): Promise<string[]> {
  const failed: string[] = []
  const ping = async (from: LabNode, address: string) => {
    const program = address.includes(':') ? 'ping6' : 'ping'
    const how = ['-c', '1', '-W', String(patienceSeconds), '-s', String(sizeBytes)]
    const args = [`--net=/run/netns/${from.pod.namespace}`, 'busybox', program, ...how, address]
    if ((await nodeProcesses.run('nsenter', args)).exitCode !== 0) failed.push(`${from.name} to ${address}`)
  }
  const pairs = lab.nodes.flatMap((from) =>
    lab.nodes.map((to) => ({ from, addresses: [to.pod.address, to.pod.addressV6].slice(0, families) })),
  )
  await Promise.all(pairs.flatMap(({ from, addresses }) => addresses.map((address) => ping(from, address))))
  return failed.sort()
}
