/** The configurations that a kubelet was given through the API, on its disk: which one is assigned to it, and which was the last good one. */
import { join } from 'node:path'
import type { V1ConfigMapNodeConfigSource, V1NodeConfigSource } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'

/** A config map at one version. */
export type ConfigVersion = Required<V1ConfigMapNodeConfigSource>

type Role = 'assigned' | 'last-known-good'

/** Upstream's words for what a role's file holds. */
const header = { kind: 'SerializedNodeConfigSource', apiVersion: 'kubelet.config.k8s.io/v1beta1' }

export class ConfigStore {
  readonly #files: Files
  readonly #clock: Clock
  readonly #directory: string

  /** `--dynamic-config-dir`. */
  constructor(directory: string, { files, clock }: { files: Files; clock: Clock }) {
    this.#files = files
    this.#clock = clock
    this.#directory = join(directory, 'store')
  }

  async read(role: Role): Promise<ConfigVersion | undefined> {
    return (await this.#fileOf(role))?.source?.configMap as ConfigVersion | undefined
  }

  /** When the role was last given to another configuration. */
  async changedMs(role: Role): Promise<number | undefined> {
    const { changedTime } = (await this.#fileOf(role)) ?? {}
    return changedTime === undefined ? undefined : Date.parse(changedTime)
  }

  async write(role: Role, version: ConfigVersion | undefined): Promise<void> {
    const changedTime = new Date(this.#clock.now()).toISOString()
    const text = version === undefined ? '' : JSON.stringify({ ...header, source: { configMap: version }, changedTime })
    await this.#files.makeDirectory(join(this.#directory, 'meta'))
    await this.#files.write(this.#roleFile(role), text, { mode: 0o600, survivesPowerCut: true })
  }

  /** Nothing is assigned any more, and nothing of old is good. Resolves with whether something was. */
  async reset(): Promise<boolean> {
    const hadAssigned = (await this.read('assigned')) !== undefined
    if ((await this.read('last-known-good')) !== undefined) await this.write('last-known-good', undefined)
    if (hadAssigned) await this.write('assigned', undefined)
    return hadAssigned
  }

  async save(version: ConfigVersion, data: Readonly<Record<string, string>>): Promise<void> {
    const directory = this.#versionDirectory(version)
    await this.#files.makeDirectory(directory)
    for (const [key, text] of Object.entries(data)) {
      await this.#files.write(join(directory, key), text, { mode: 0o600, survivesPowerCut: true })
    }
  }

  pathOf(version: ConfigVersion): string {
    return join(this.#versionDirectory(version), version.kubeletConfigKey)
  }

  async #fileOf(role: Role): Promise<{ source?: V1NodeConfigSource; changedTime?: string } | undefined> {
    const text = await this.#files.readTextIfPresent(this.#roleFile(role))
    if (text === undefined || text === '') return undefined
    try {
      return JSON.parse(text) as { source?: V1NodeConfigSource; changedTime?: string }
    } catch {
      throw new Error(`${this.#roleFile(role)} is corrupted`)
    }
  }

  #roleFile(role: Role): string {
    return join(this.#directory, 'meta', role)
  }

  #versionDirectory({ uid, resourceVersion }: ConfigVersion): string {
    return join(this.#directory, 'checkpoints', uid, resourceVersion)
  }
}

export const isSameVersion = (one: ConfigVersion | undefined, other: ConfigVersion | undefined): boolean =>
  one?.uid === other?.uid && one?.resourceVersion === other?.resourceVersion && one?.kubeletConfigKey === other?.kubeletConfigKey
