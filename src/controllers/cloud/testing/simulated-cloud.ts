/** A cloud in memory that can be slow, out of capacity, silent, or wrong. */
import type { V1LoadBalancerStatus, V1Node, V1NodeAddress, V1Service } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { type CloudProvider, type CloudRoute, type InstanceMetadata, RetryLater } from '#controllers/cloud/cloud-provider.ts'

export type Machine = Omit<InstanceMetadata, 'addresses'> & { addresses: V1NodeAddress[]; isDown?: boolean }

export class SimulatedCloud {
  readonly machines = new Map<string, Machine>()
  readonly balancers = new Map<string, { ip: string; nodes: string[] }>()
  routes: CloudRoute[] = []
  /** Everything that changed it, in order. */
  readonly trace: string[] = []
  delayMs = 0
  /** How many load balancers it can have. */
  capacity = Number.POSITIVE_INFINITY
  /** Says of each load balancer it cannot make when to ask again. */
  retryAfterMs: number | undefined
  /** Names of calls that fail, such as `exists`. */
  readonly broken = new Set<string>()
  /** How many it makes at the same time. */
  busy = 0
  mostBusy = 0
  readonly #clock: Clock
  #addresses = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  addMachine(name: string, more: Partial<Machine> = {}): void {
    this.machines.set(name, {
      providerId: `sim://${name}`,
      instanceType: 'small',
      zone: 'a',
      region: 'r',
      addresses: [{ type: 'InternalIP', address: `10.0.0.${this.machines.has(name) ? this.machines.size : this.machines.size + 1}` }],
      ...more,
    })
  }

  get provider(): CloudProvider {
    return {
      name: 'simulated',
      instances: {
        exists: (node) => this.#call('exists', async () => this.machines.has(nameOf(node))),
        isShutDown: (node) => this.#call('isShutDown', async () => this.machines.get(nameOf(node))?.isDown ?? false),
        metadata: (node) =>
          this.#call('metadata', async () => {
            const machine = this.machines.get(nameOf(node))
            if (machine === undefined) throw new Error('instance not found')
            return machine
          }),
      },
      loadBalancers: {
        get: (_cluster, service) => this.#call('get', async () => this.#statusOf(service)),
        ensure: (_cluster, service, nodes) => this.#call('ensure', () => this.#ensure(service, nodes)),
        update: (_cluster, service, nodes) =>
          this.#call('update', async () => {
            const balancer = this.balancers.get(keyOf(service))
            if (balancer === undefined) throw new Error('no such load balancer')
            balancer.nodes = nodes.map(nameOf).sort()
            this.trace.push(`update ${keyOf(service)} ${balancer.nodes}`)
          }),
        remove: (_cluster, service) =>
          this.#call('remove', async () => {
            if (this.balancers.delete(keyOf(service))) this.trace.push(`remove ${keyOf(service)}`)
          }),
      },
      routes: {
        list: () => this.#call('list', async () => [...this.routes]),
        create: (_cluster, nameHint, route) =>
          this.#call('create', async () => {
            this.routes.push({ name: `${nameHint}-${route.destinationCidr}`, ...route })
            this.trace.push(`route ${route.destinationCidr} ${route.targetNode}`)
          }),
        remove: (_cluster, route) =>
          this.#call('unroute', async () => {
            this.routes = this.routes.filter((one) => one.name !== route.name)
            this.trace.push(`unroute ${route.destinationCidr}`)
          }),
      },
    }
  }

  #statusOf(service: V1Service): V1LoadBalancerStatus | undefined {
    const balancer = this.balancers.get(keyOf(service))
    return balancer && { ingress: [{ ip: balancer.ip, ipMode: 'VIP' }] }
  }

  async #ensure(service: V1Service, nodes: readonly V1Node[]): Promise<V1LoadBalancerStatus> {
    const key = keyOf(service)
    if (!this.balancers.has(key) && this.balancers.size >= this.capacity) {
      if (this.retryAfterMs !== undefined) throw new RetryLater('quota exceeded', this.retryAfterMs)
      throw new Error('quota exceeded')
    }
    const ip = this.balancers.get(key)?.ip ?? `192.0.2.${++this.#addresses}`
    this.balancers.set(key, { ip, nodes: nodes.map(nameOf).sort() })
    this.trace.push(`ensure ${key} ${nodes.map(nameOf).sort()}`)
    return this.#statusOf(service) ?? {}
  }

  async #call<T>(name: string, act: () => Promise<T>): Promise<T> {
    this.mostBusy = Math.max(this.mostBusy, ++this.busy)
    try {
      if (this.delayMs > 0) await this.#clock.sleep(this.delayMs)
      if (this.broken.has(name)) throw new Error(`the cloud does not answer ${name}`)
      return await act()
    } finally {
      this.busy--
    }
  }
}

const nameOf = ({ metadata }: V1Node): string => metadata.name ?? ''
