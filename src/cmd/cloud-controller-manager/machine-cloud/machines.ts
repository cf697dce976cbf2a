/** The machines of this cloud: network namespaces of a cluster's nodes, and the machine that they are on. */

import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { type NodeSettings, nodePaths, readNodeRecords } from '#cmd/node/node-directory.ts'

export type Machine = {
  name: string
  /** Empty as long as it has never run. */
  addresses: readonly string[]
  isRunning: boolean
}

export type MachinesOptions = {
  dataDir: string
  files: Files
  processes: Processes
  /** The machine itself may be a node. */
  own: { name: string; addresses(): readonly string[] }
}

export class Machines {
  readonly #options: MachinesOptions

  constructor(options: MachinesOptions) {
    this.#options = options
  }

  /** Undefined where there is none of that name. Throws where the cluster's directory cannot be read: then nothing is known. */
  async find(name: string): Promise<Machine | undefined> {
    const { dataDir, files, own } = this.#options
    if (name === own.name) return { name, addresses: own.addresses(), isRunning: true }
    if ((await files.stat(dataDir)) === undefined) throw new Error(`there is no directory ${dataDir}`)
    const records = await readNodeRecords(dataDir, files)
    return records.some((record) => record.name === name) ? this.#read(name) : undefined
  }

  async all(): Promise<Machine[]> {
    const { dataDir, files } = this.#options
    return Promise.all((await readNodeRecords(dataDir, files)).map(({ name }) => this.#read(name)))
  }

  async #read(name: string): Promise<Machine> {
    const { dataDir, files, processes } = this.#options
    const paths = nodePaths(dataDir, name)
    const settings = await files.readTextIfPresent(paths.settings)
    const { address, addressV6 } = settings === undefined ? {} : (JSON.parse(settings) as Partial<NodeSettings>)
    const pid = Number((await files.readTextIfPresent(paths.pid)) ?? 0)
    const addresses = [address, addressV6].filter((one) => one !== undefined)
    return { name, addresses, isRunning: pid > 0 && processes.isAlive(pid) }
  }
}
