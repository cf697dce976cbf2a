import { podRequests } from '#api/core/v1/resources.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Instance, InstanceError, NodeGroup, NodeGroupProvider, Pricing } from '#cluster-autoscaler/provider/node-group.ts'
import type { NodeGroupSpec } from '#cluster-autoscaler/provider/parse-node-group.ts'

/** Makes machines one by one, and ends them. Names are chosen by the groups. */
export type Machines = {
  /** Those that are there from before, by the group they belong to. */
  existing(): Promise<readonly { name: string; group: string }[]>
  /** Resolves when the machine runs; its node may register later. */
  start(name: string, group: NodeGroupSpec): Promise<void>
  /** Resolves when nothing of it is left, its node included. */
  stop(name: string): Promise<void>
  /** What a machine is like, where that does not follow from the group. */
  template?(group: NodeGroupSpec): Promise<V1Node | undefined>
}

export type MachineGroupsOptions = { name: string; groups: readonly NodeGroupSpec[]; machines: Machines; logger: Logger }

export const nodeGroupLabel = 'typernetes.dev/node-group'

type Machine = {
  name: string
  state: 'running' | 'creating' | 'deleting'
  error?: InstanceError
  /** Its end was tried and failed: some of it may be gone, so it is of no use any more. */
  isStuck?: boolean
}

/** Node groups whose machines are made here: simulated ones, or nodes of this machine. */
export class MachineGroups implements NodeGroupProvider {
  readonly name: string
  readonly #groups: readonly MachineGroup[]
  readonly #machines: Machines
  readonly pricing: Pricing

  constructor({ name, groups, machines, logger }: MachineGroupsOptions) {
    this.name = name
    this.#machines = machines
    this.#groups = groups.map((spec) => new MachineGroup(spec, machines, logger))
    this.pricing = pricesOf(groups)
  }

  /** Finds what is there, and makes the machines that each group has at least. */
  async start(): Promise<void> {
    for (const { name, group } of await this.#machines.existing()) this.#groups.find(({ id }) => id === group)?.adopt(name)
    for (const group of this.#groups) await group.increaseSize(Math.max(0, group.minSize - (await group.targetSize())))
  }

  nodeGroups(): readonly NodeGroup[] {
    return this.#groups
  }

  async groupOf({ metadata }: V1Node): Promise<NodeGroup | undefined> {
    const name = metadata.name ?? ''
    const known = this.#groups.find((group) => group.has(name))
    return known ?? this.#groups.find(({ id }) => id === metadata.labels?.[nodeGroupLabel])
  }

  /** Tries again what could not be ended before. */
  async refresh(): Promise<void> {
    for (const group of this.#groups) group.endStuck()
  }

  /** Machines run on: the next autoscaler finds them. */
  async close(): Promise<void> {
    await Promise.all(this.#groups.map((group) => group.settled()))
  }
}

class MachineGroup implements NodeGroup {
  readonly #spec: NodeGroupSpec
  readonly #machines: Machines
  readonly #logger: Logger
  readonly #members = new Map<string, Machine>()
  readonly #underWay = new Set<Promise<void>>()
  #lastNumber = 0

  constructor(spec: NodeGroupSpec, machines: Machines, logger: Logger) {
    this.#spec = spec
    this.#machines = machines
    this.#logger = logger
  }

  get id(): string {
    return this.#spec.name
  }
  get minSize(): number {
    return this.#spec.minSize
  }
  get maxSize(): number {
    return this.#spec.maxSize
  }

  has(name: string): boolean {
    return this.#members.has(name)
  }

  adopt(name: string): void {
    this.#lastNumber = Math.max(this.#lastNumber, Number(name.slice(this.id.length + 1)) || 0)
    this.#members.set(name, { name, state: 'running' })
  }

  async targetSize(): Promise<number> {
    return [...this.#members.values()].filter(({ state }) => state !== 'deleting').length
  }

  async increaseSize(by: number): Promise<void> {
    const size = (await this.targetSize()) + by
    if (size > this.maxSize) throw new Error(`size increase is too large, desired: ${size} max: ${this.maxSize}`)
    for (let count = 0; count < by; count++) this.#make()
  }

  #make(): void {
    const machine: Machine = { name: `${this.id}-${++this.#lastNumber}`, state: 'creating' }
    this.#members.set(machine.name, machine)
    const made = this.#machines.start(machine.name, this.#spec).then(
      () => {
        if (machine.state === 'creating') machine.state = 'running'
      },
      (error: unknown) => {
        machine.error = { code: 'cannotStart', message: errorMessage(error), isOutOfResources: false }
        this.#logger.warn('machine did not start', { nodeGroup: this.id, node: machine.name, error: errorMessage(error) })
      },
    )
    this.#follow(made)
  }

  async deleteNodes(nodes: readonly V1Node[]): Promise<void> {
    const names = nodes.map(({ metadata }) => metadata.name ?? '')
    for (const name of names) if (!this.has(name)) throw new Error(`node ${name} is not of the group ${this.id}`)
    if ((await this.targetSize()) - names.length < this.minSize) throw new Error(`min size reached, nodes will not be deleted`)
    for (const name of names) this.#end(name)
  }

  #end(name: string): void {
    const machine = this.#members.get(name)
    if (machine === undefined || machine.state === 'deleting') return
    machine.state = 'deleting'
    this.#stop(machine)
  }

  #stop(machine: Machine): void {
    const { name } = machine
    machine.isStuck = false
    this.#follow(
      this.#machines.stop(name).then(
        () => void this.#members.delete(name),
        (error: unknown) => {
          machine.isStuck = true
          this.#logger.warn('machine did not stop, retrying', { nodeGroup: this.id, node: name, error: errorMessage(error) })
        },
      ),
    )
  }

  endStuck(): void {
    for (const machine of this.#members.values()) if (machine.isStuck) this.#stop(machine)
  }

  /** Every machine that is asked for is made at once, so nothing is left to take back but those that failed. */
  async decreaseTargetSize(by: number): Promise<void> {
    const failed = [...this.#members.values()].filter(({ error }) => error !== undefined)
    if (failed.length < by) throw new Error(`attempt to delete existing nodes: ${by} of the group ${this.id}`)
    for (const { name } of failed.slice(0, by)) this.#end(name)
  }

  async instances(): Promise<readonly Instance[]> {
    return [...this.#members.values()].map(({ name, state, error }) => ({ id: name, state, ...(error ? { error } : {}) }))
  }

  async template(): Promise<V1Node | undefined> {
    const { template } = this.#machines
    return template === undefined ? templateNode(this.#spec) : template(this.#spec)
  }

  async settled(): Promise<void> {
    await Promise.allSettled([...this.#underWay])
  }

  #follow(work: Promise<void>): void {
    this.#underWay.add(work)
    void work.finally(() => this.#underWay.delete(work))
  }
}

function templateNode({ name, shape }: NodeGroupSpec): V1Node {
  const { cpu, memory, pods, labels, taints } = shape
  const resources = { cpu, memory, pods, 'ephemeral-storage': '100Gi' }
  return {
    metadata: {
      name: `${name}-template`,
      labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64', [nodeGroupLabel]: name, ...labels },
    },
    spec: taints.length === 0 ? {} : { taints: [...taints] },
    status: { capacity: resources, allocatable: resources, conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

const hourMs = 3_600_000
/** What a core and a gigabyte cost where no group has a price: their relation is that of most clouds. */
const corePrice = 0.033
const gigabytePrice = 0.0044

function pricesOf(groups: readonly NodeGroupSpec[]): Pricing {
  const prices = new Map(groups.map(({ name, shape }) => [name, shape.pricePerHour]))
  const hours = (startMs: number, endMs: number) => (endMs - startMs) / hourMs
  const amount = (cpuMillis: number, bytes: number) => (cpuMillis / 1000) * corePrice + (bytes / 2 ** 30) * gigabytePrice
  return {
    async nodePrice({ metadata, status }, startMs, endMs) {
      const price = prices.get(metadata.labels?.[nodeGroupLabel] ?? '')
      const { cpu = '0', memory = '0' } = status?.capacity ?? {}
      return hours(startMs, endMs) * (price || amount(parseQuantity(cpu).milliValue(), parseQuantity(memory).value()))
    },
    async podPrice({ spec }: V1Pod, startMs, endMs) {
      const { cpu, memory } = podRequests(spec)
      return hours(startMs, endMs) * amount(cpu?.milliValue() ?? 0, memory?.value() ?? 0)
    },
  }
}
