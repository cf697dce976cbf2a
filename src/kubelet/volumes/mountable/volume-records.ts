/** What is mounted for pods, written down on disk before it is mounted, so that any later run of the agent can take it off. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { PodDirectories } from '#kubelet/runtime-helper/pod-directories.ts'
import type { VolumeRecord } from '#kubelet/volumes/mountable/mount-plugin.ts'

const fileName = 'volume.json'

export class VolumeRecords {
  readonly #files: Files
  readonly #directories: PodDirectories
  /** By pod. */
  readonly #records = new Map<string, VolumeRecord[]>()

  constructor({ files, directories }: { files: Files; directories: PodDirectories }) {
    this.#files = files
    this.#directories = directories
  }

  /** Reads what earlier runs of the agent have left. */
  async load(): Promise<void> {
    for (const uid of await this.#files.list(this.#directories.pods)) await this.loadPod(uid)
  }

  async loadPod(uid: string): Promise<VolumeRecord[]> {
    const known = this.#records.get(uid)
    if (known !== undefined) return known
    const found: VolumeRecord[] = []
    const plugins = this.#directories.plugins(uid)
    for (const plugin of await this.#files.list(plugins)) {
      for (const name of await this.#files.list(join(plugins, plugin))) {
        const text = await this.#files.readTextIfPresent(join(plugins, plugin, name, fileName))
        if (text !== undefined) found.push(JSON.parse(text) as VolumeRecord)
      }
    }
    // Two may have looked at once; what was added meanwhile counts.
    const present = this.#records.get(uid) ?? found
    this.#records.set(uid, present)
    return present
  }

  async add(record: VolumeRecord): Promise<void> {
    const of = await this.loadPod(record.podUid)
    const text = JSON.stringify(record)
    const index = of.findIndex((each) => isSame(each, record))
    if (index >= 0 && JSON.stringify(of[index]) === text) return
    const directory = this.#directoryOf(record)
    await this.#files.makeDirectory(directory, { mode: 0o750 })
    await this.#write(join(directory, fileName), text)
    if (index >= 0) of[index] = record
    else of.push(record)
  }

  /** Whole or not at all, but not durable: when the machine goes down, so does all that is mounted. */
  async #write(path: string, text: string): Promise<void> {
    const draft = `${path}.draft`
    await this.#files.removeOne(draft)
    await this.#files.createExclusive(draft, text)
    await this.#files.rename(draft, path)
  }

  async remove(record: VolumeRecord): Promise<void> {
    await this.#files.remove(this.#directoryOf(record))
    const left = (this.#records.get(record.podUid) ?? []).filter((each) => !isSame(each, record))
    if (left.length === 0) this.#records.delete(record.podUid)
    else this.#records.set(record.podUid, left)
  }

  *all(): Generator<VolumeRecord> {
    for (const records of this.#records.values()) yield* records
  }

  isUsed(uniqueName: string, exceptBy: string): boolean {
    for (const [uid, records] of this.#records) {
      if (uid !== exceptBy && records.some((record) => record.uniqueName === uniqueName)) return true
    }
    return false
  }

  #directoryOf({ podUid, plugin, name }: VolumeRecord): string {
    return this.#directories.pluginVolume(podUid, plugin, name)
  }
}

const isSame = (left: VolumeRecord, right: VolumeRecord): boolean =>
  left.podUid === right.podUid && left.plugin === right.plugin && left.name === right.name
