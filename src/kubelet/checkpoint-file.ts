/** A small state that an agent writes down, so that the next one knows it: JSON with a sum that tells a whole file from a torn one. */
import { dirname } from 'node:path'
import type { Files } from '#base/files.ts'

export class CheckpointFile<T extends object> {
  readonly path: string
  readonly #files: Files
  readonly #sumField: string
  #last: Promise<void> = Promise.resolve()

  constructor(files: Files, path: string, { sumField = 'checksum' }: { sumField?: string } = {}) {
    this.#files = files
    this.path = path
    this.#sumField = sumField
  }

  /** Undefined when there is none. Throws when it is damaged. */
  async read(): Promise<T | undefined> {
    const text = await this.#files.readTextIfPresent(this.path)
    if (text === undefined || text === '') return undefined
    try {
      const { [this.#sumField]: sum, ...state } = JSON.parse(text) as Record<string, unknown>
      if (sum === sumOf(JSON.stringify(state))) return state as T
    } catch {
      // Said below.
    }
    throw new Error(`checkpoint ${this.path} is corrupted`)
  }

  /** One after the other, the latest last. Resolves when this one is there. */
  write(state: T): Promise<void> {
    const text = JSON.stringify(state)
    const whole = JSON.stringify({ ...state, [this.#sumField]: sumOf(text) })
    this.#last = this.#last
      .catch(() => {})
      .then(async () => {
        await this.#files.makeDirectory(dirname(this.path), { mode: 0o750 })
        await this.#files.write(this.path, whole)
      })
    return this.#last
  }

  /** Resolves when nothing is being written. */
  settled(): Promise<void> {
    return this.#last.catch(() => {})
  }
}

/** FNV-1a of 32 bits. */
function sumOf(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}
