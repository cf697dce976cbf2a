/** What the built-in driver keeps of a volume or a snapshot, beside its data. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'

export type StoredVolume = {
  id: string
  sizeBytes: number
  /** A directory; a directory with a limit that the file system keeps; or a file that is a disk. */
  kind: 'directory' | 'project' | 'loop'
  fsType: string
  isBlock: boolean
  createdMs: number
  /** It was made larger, what is on it was not yet. */
  mustGrow?: boolean
  /** Of a snapshot: what it was taken of. */
  sourceVolumeId?: string
  /** The number by which the file system counts what is in it. */
  projectId?: number
}

const description = 'volume.json'

/** Volumes, or snapshots, in directories of their own below one. Ids are names of directories: nothing else is looked at. */
export class StoredVolumes {
  readonly #files: Files
  readonly #nodeName: string
  readonly directory: string

  constructor({ directory, nodeName, files }: { directory: string; nodeName: string; files: Files }) {
    this.directory = directory
    this.#nodeName = nodeName
    this.#files = files
  }

  /** What the cluster calls it: the node's name comes first, so that everybody knows whom to ask. */
  handleOf(id: string): string {
    return `${this.#nodeName}/${id}`
  }

  /** By its handle. Undefined for those of other nodes. */
  async find(handle: string): Promise<StoredVolume | undefined> {
    const id = this.#idOf(handle)
    return id === undefined ? undefined : this.named(id)
  }

  async named(id: string): Promise<StoredVolume | undefined> {
    if (!isPlain(id)) return undefined
    const text = await this.#files.readTextIfPresent(join(this.directory, id, description))
    return text === undefined ? undefined : (JSON.parse(text) as StoredVolume)
  }

  async list(): Promise<StoredVolume[]> {
    const found: StoredVolume[] = []
    for (const id of await this.#files.list(this.directory)) {
      const volume = await this.named(id)
      if (volume !== undefined) found.push(volume)
    }
    return found
  }

  dataOf({ id, kind }: Pick<StoredVolume, 'id' | 'kind'>): string {
    return join(this.directory, id, kind === 'loop' ? 'disk.img' : 'data')
  }

  /** All or nothing: what is half made has no name yet. `fill` gets the place of the data. */
  async add(volume: StoredVolume, fill: (dataPath: string) => Promise<void>): Promise<void> {
    if (!isPlain(volume.id)) throw new Error(`${volume.id} cannot be the name of a volume`)
    const draft = `${volume.id}.draft`
    await this.#files.remove(join(this.directory, draft))
    await this.#files.makeDirectory(join(this.directory, draft), { mode: 0o711 })
    try {
      await fill(this.dataOf({ id: draft, kind: volume.kind }))
      await this.#files.write(join(this.directory, draft, description), JSON.stringify(volume))
      await this.#files.rename(join(this.directory, draft), join(this.directory, volume.id))
    } catch (error) {
      await this.#files.remove(join(this.directory, draft))
      throw error
    }
  }

  async update(volume: StoredVolume): Promise<void> {
    await this.#files.write(join(this.directory, volume.id, description), JSON.stringify(volume))
  }

  async remove(handle: string): Promise<void> {
    const id = this.#idOf(handle)
    if (id !== undefined && isPlain(id)) await this.#files.remove(join(this.directory, id))
  }

  #idOf(handle: string): string | undefined {
    const prefix = this.handleOf('')
    return handle.startsWith(prefix) ? handle.slice(prefix.length) : undefined
  }
}

const isPlain = (id: string): boolean => /^[A-Za-z0-9][\w.-]{0,200}$/.test(id) && !id.endsWith('.draft')
