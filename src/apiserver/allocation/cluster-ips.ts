/** Addresses of services. An IPAddress object is the claim: two servers cannot both create it. */

import type { V1Service } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { StatusError } from '#api/meta/status-error.ts'
import { IPAddress, ServiceCIDR } from '#api/networking/v1/kinds.gen.ts'
import type { V1IPAddress } from '#api/networking/v1/types.gen.ts'
import { type Registries, serverContext } from '#apiserver/registry/registries.ts'
import { addressText, contains, type IpFamily, type IpRange, parseRange, usable } from '#base/ip-range.ts'
import type { Random } from '#base/random.ts'

export class AllocationError extends Error {}
/** No address is left; the server's trouble, not the client's. */
export class RangeIsFull extends AllocationError {}

const managedBy = 'ipallocator.k8s.io'
const randomTries = 32

export class ClusterIps {
  readonly #registries: Registries
  readonly #random: Random
  readonly #configured: readonly IpRange[]

  constructor(registries: Registries, random: Random, cidrs: readonly string[]) {
    this.#registries = registries
    this.#random = random
    this.#configured = cidrs.map(parseRange)
  }

  get defaultFamily(): IpFamily {
    return this.#configured[0]?.family ?? 'IPv4'
  }

  get families(): ReadonlySet<IpFamily> {
    return new Set(this.#ranges().map(({ family }) => family))
  }

  /** Those of the flags, and those that ServiceCIDR objects add and that are not going away. */
  #ranges(): IpRange[] {
    const objects = this.#registries
      .of(ServiceCIDR)
      .cache.list('')
      .map(({ object }) => object)
    const added = objects
      .filter(({ metadata, status }) => metadata?.deletionTimestamp === undefined && !isNotReady(status?.conditions))
      .flatMap(({ spec }) => spec?.cidrs ?? [])
    const known = new Map(this.#configured.map((range) => [range.text, range]))
    for (const cidr of added) if (!known.has(cidr)) known.set(cidr, parseRange(cidr))
    return [...known.values()]
  }

  /** Claims a given address for the service. */
  async allocate(address: string, service: V1Service, isDryRun: boolean): Promise<void> {
    const range = this.#ranges().find((each) => contains(each, address))
    if (range === undefined) throw new AllocationError('the provided network does not match the current range')
    if (!(await this.#claim(address, range.family, service, isDryRun))) throw new AllocationError('provided IP is already allocated')
  }

  /** Claims any free address. The lower part of a range is left for addresses that users choose, as long as the upper has room. */
  async allocateNext(family: IpFamily, service: V1Service, isDryRun: boolean): Promise<string> {
    for (const range of this.#ranges().filter((each) => each.family === family)) {
      const { first, count } = usable(range)
      const reserved = reservedCount(count)
      for (const [start, size] of [
        [first + reserved, count - reserved],
        [first, reserved],
      ] as const) {
        if (size <= 0n) continue
        const found = await this.#search(start, size, range, service, isDryRun)
        if (found !== undefined) return found
      }
    }
    throw new RangeIsFull('range is full')
  }

  async #search(start: bigint, size: bigint, range: IpRange, service: V1Service, isDryRun: boolean): Promise<string | undefined> {
    const limit = size < 2n ** 31n ? Number(size) : 2 ** 31
    for (let attempt = 0; attempt < randomTries; attempt++) {
      const address = addressText(start + BigInt(this.#random.int(limit)), range.family)
      if (!this.#isTaken(address) && (await this.#claim(address, range.family, service, isDryRun))) return address
    }
    const offset = this.#random.int(limit)
    for (let step = 0; step < limit; step++) {
      const address = addressText(start + BigInt((offset + step) % limit), range.family)
      if (!this.#isTaken(address) && (await this.#claim(address, range.family, service, isDryRun))) return address
    }
    return undefined
  }

  #isTaken(address: string): boolean {
    const { cache, key } = this.#addresses()
    return cache.get(key(address)) !== undefined
  }

  async #claim(address: string, family: IpFamily, service: V1Service, isDryRun: boolean): Promise<boolean> {
    if (this.#isTaken(address)) return false
    if (isDryRun) return true
    const { registry } = this.#addresses()
    const { name = '', namespace = '' } = service.metadata ?? {}
    const object: V1IPAddress = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IPAddress',
      metadata: { name: address, labels: { 'ipaddress.kubernetes.io/ip-family': family, 'ipaddress.kubernetes.io/managed-by': managedBy } },
      spec: { parentRef: { group: '', resource: 'services', namespace, name } },
    }
    try {
      await registry.create(object, serverContext(registry.definition, ''))
      return true
    } catch (error) {
      if (error instanceof StatusError && error.reason === 'AlreadyExists') return false
      throw error
    }
  }

  async release(address: string): Promise<void> {
    const { registry } = this.#addresses()
    try {
      await registry.delete(address, {}, serverContext(registry.definition, ''))
    } catch (error) {
      if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error
    }
  }

  #addresses() {
    const registry = this.#registries.of(IPAddress)
    return { registry, cache: registry.cache, key: (address: string) => registry.key('', address) }
  }
}

/** As upstream: between 16 and 256 addresses, a sixteenth of the range. */
function reservedCount(count: bigint): bigint {
  const sixteenth = count / 16n
  if (sixteenth < 16n) return count < 32n ? 0n : 16n
  return sixteenth > 256n ? 256n : sixteenth
}

function isNotReady(conditions: readonly { type: string; status: string }[] | undefined): boolean {
  return findCondition(conditions, 'Ready')?.status === 'False'
}
