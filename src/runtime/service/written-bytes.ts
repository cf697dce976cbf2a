/** How much containers have written beside their volumes. To find out takes long where they have many files: not more often than now and then. */
import type { Clock } from '#base/clock.ts'
import type { DirectoryUsage } from '#base/directory-usage.ts'
import type { Files } from '#base/files.ts'

const lastsMs = 5000

export class WrittenBytes {
  readonly #files: Pick<Files, 'usage'>
  readonly #clock: Clock
  readonly #known = new Map<string, { atMs: number; usage: Promise<DirectoryUsage> }>()

  constructor(files: Pick<Files, 'usage'>, clock: Clock) {
    this.#files = files
    this.#clock = clock
  }

  of(containerId: string, directory: string): Promise<DirectoryUsage> {
    const known = this.#known.get(containerId)
    if (known !== undefined && this.#clock.now() - known.atMs < lastsMs) return known.usage
    const usage = this.#files.usage(directory)
    this.#known.set(containerId, { atMs: this.#clock.now(), usage })
    return usage
  }

  forget(containerId: string): void {
    this.#known.delete(containerId)
  }
}
