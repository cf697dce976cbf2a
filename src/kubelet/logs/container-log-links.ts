/** Links to the logs of containers in one directory, by names that collectors of logs read pods, namespaces and containers from. */
import { dirname, join } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Files } from '#base/files.ts'

export type ContainerLog = { pod: V1Pod; container: string; containerId: string; logPath: string }

/** Longer names cannot be. */
const longestName = 251

export class ContainerLogLinks {
  readonly #files: Files
  readonly #directory: string
  /** By container, those of this run of the agent. */
  readonly #paths = new Map<string, string>()

  /** Beside the directory of pods' logs: `/var/log/containers`. */
  constructor(files: Files, podLogsDirectory: string) {
    this.#files = files
    this.#directory = join(dirname(podLogsDirectory), 'containers')
  }

  async add({ pod, container, containerId, logPath }: ContainerLog): Promise<void> {
    const { name, namespace } = pod.metadata
    // What is too long is cut before the id, which tells containers apart.
    const start = `${name}_${namespace}_${container}`.slice(0, longestName - containerId.length - '-.log'.length)
    const path = join(this.#directory, `${start}-${containerId}.log`)
    await this.#files.makeDirectory(this.#directory, { mode: 0o755 })
    await this.#files.removeOne(path)
    await this.#files.symlink(logPath, path)
    this.#paths.set(containerId, path)
  }

  async remove(containerId: string): Promise<void> {
    const path = this.#paths.get(containerId) ?? (await this.#find(containerId))
    this.#paths.delete(containerId)
    if (path !== undefined) await this.#files.removeOne(path)
  }

  /** One that an agent before this one has made. */
  async #find(containerId: string): Promise<string | undefined> {
    const name = (await this.#files.list(this.#directory)).find((each) => each.endsWith(`-${containerId}.log`))
    return name === undefined ? undefined : join(this.#directory, name)
  }
}
