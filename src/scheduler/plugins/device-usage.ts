/** Which devices are taken, how much of those that are shared, and what of the counters they draw on. */
import { parseQuantity, type Quantity, zeroQuantity } from '#api/meta/quantity.ts'
import type { V1CapacityRequirements, V1CounterSet, V1Device } from '#api/resource/v1/types.gen.ts'
import { type Amounts, consumedCapacity } from '#scheduler/plugins/consumed-capacity.ts'

export type UsableDevice = {
  readonly id: string
  /** `driver/pool`: counters belong to the pool. */
  readonly poolId: string
  readonly device: V1Device
  readonly counterSets: readonly V1CounterSet[]
}

/** A layer over what was taken before, so that choices can be tried and dropped. */
export class DeviceUsage {
  readonly #below: DeviceUsage | undefined
  readonly #taken = new Set<string>()
  readonly #amounts = new Map<string, Quantity>()

  constructor(below?: DeviceUsage) {
    this.#below = below
  }

  isTaken(id: string): boolean {
    return this.#taken.has(id) || (this.#below?.isTaken(id) ?? false)
  }
  #amount(key: string): Quantity {
    const own = this.#amounts.get(key)
    if (own !== undefined) return own
    return this.#below === undefined ? zeroQuantity : this.#below.#amount(key)
  }
  #add(key: string, amount: Quantity): void {
    this.#amounts.set(key, this.#amount(key).add(amount))
  }

  /** A device of a claim that has it already. */
  takeAllocated(usable: UsableDevice | undefined, id: string, shared: Amounts | undefined): void {
    if (usable !== undefined && !this.isTaken(id)) this.#takeCounters(usable)
    this.#taken.add(id)
    for (const [name, amount] of shared ?? []) this.#add(`${id}/${name}`, amount)
  }

  /** The usage with the device taken as well; undefined when it is not to be had. */
  with(usable: UsableDevice, wanted: V1CapacityRequirements | undefined): DeviceUsage | undefined {
    const { id, device } = usable
    const isShared = device.allowMultipleAllocations === true
    if (this.isTaken(id) && !isShared) return undefined
    const amounts = isShared || wanted?.requests !== undefined ? consumedCapacity(device, wanted) : new Map<string, Quantity>()
    if (amounts === undefined) return undefined
    for (const [name, amount] of amounts) {
      const whole = parseQuantity(device.capacity?.[name]?.value ?? '0')
      if (this.#amount(`${id}/${name}`).add(amount).compare(whole) > 0) return undefined
    }
    if (!this.isTaken(id) && !this.#hasCounters(usable)) return undefined
    const next = new DeviceUsage(this)
    if (!next.isTaken(id)) next.#takeCounters(usable)
    next.#taken.add(id)
    if (isShared) for (const [name, amount] of amounts) next.#add(`${id}/${name}`, amount)
    return next
  }

  #hasCounters({ poolId, device, counterSets }: UsableDevice): boolean {
    return (device.consumesCounters ?? []).every(({ counterSet, counters }) => {
      const set = counterSets.find(({ name }) => name === counterSet)
      return Object.entries(counters).every(([name, { value }]) => {
        const whole = set?.counters[name]?.value
        const used = this.#amount(`${poolId}/${counterSet}/${name}`).add(parseQuantity(value))
        return whole !== undefined && used.compare(parseQuantity(whole)) <= 0
      })
    })
  }

  #takeCounters({ poolId, device }: UsableDevice): void {
    for (const { counterSet, counters } of device.consumesCounters ?? []) {
      for (const [name, { value }] of Object.entries(counters)) this.#add(`${poolId}/${counterSet}/${name}`, parseQuantity(value))
    }
  }
}
