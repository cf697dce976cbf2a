import type { CsiCaller } from '#wire/csi/csi-driver.ts'
import { nodeRpcs } from '#wire/csi/csi-types.ts'

export type RegisteredDriver = {
  name: string
  caller: CsiCaller
  /** Where its socket is; empty for what is in this process. */
  endpoint: string
  nodeId: string
  maxVolumes: number
  topology: Record<string, string>
}

export type NodeAbilities = { [Name in keyof typeof nodeRpcs]: boolean }

const callMs = 120_000

/** The drivers that have registered with this node. */
export class CsiDrivers {
  readonly #drivers = new Map<string, RegisteredDriver>()
  readonly #abilities = new Map<string, Promise<NodeAbilities>>()
  readonly #onChange: () => void

  constructor({ onChange }: { onChange(): void }) {
    this.#onChange = onChange
  }

  set(driver: RegisteredDriver): void {
    this.#drivers.set(driver.name, driver)
    // Another version of it may be able to do more.
    this.#abilities.delete(driver.name)
    this.#onChange()
  }

  /** Does nothing when somebody else has taken the name meanwhile. */
  remove({ name, endpoint }: Pick<RegisteredDriver, 'name' | 'endpoint'>): void {
    if (this.#drivers.get(name)?.endpoint !== endpoint) return
    this.#drivers.delete(name)
    this.#abilities.delete(name)
    this.#onChange()
  }

  list(): RegisteredDriver[] {
    return [...this.#drivers.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
  }

  find(name: string): RegisteredDriver | undefined {
    return this.#drivers.get(name)
  }

  get(name: string): RegisteredDriver {
    const driver = this.#drivers.get(name)
    if (driver === undefined) throw new Error(`driver name ${name} not found in the list of registered CSI drivers`)
    return driver
  }

  /** What the driver can do on nodes, asked for once. */
  abilities(name: string): Promise<NodeAbilities> {
    const known = this.#abilities.get(name)
    if (known !== undefined) return known
    const asked = this.#ask(name)
    this.#abilities.set(name, asked)
    // Whoever asked gets the failure; the next one asks again.
    asked.catch(() => this.#abilities.delete(name))
    return asked
  }

  async #ask(name: string): Promise<NodeAbilities> {
    const { capabilities } = await this.get(name).caller.call('nodeGetCapabilities', {}, { timeoutMs: callMs })
    const types = new Set(capabilities.map(({ rpc }) => rpc?.type))
    const all = Object.entries(nodeRpcs).map(([ability, type]) => [ability, types.has(type)])
    return Object.fromEntries(all) as NodeAbilities
  }
}
