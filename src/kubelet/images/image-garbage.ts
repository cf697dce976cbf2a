import type { Clock, Timer } from '#base/clock.ts'
import type { FileSystemFacts } from '#base/host.ts'
import type { Logger } from '#base/log.ts'

export type StoredImage = { id: string; names: readonly string[]; sizeBytes: number; isPinned: boolean }

export type ImageStore = {
  list(): Promise<readonly StoredImage[]>
  /** Ids and names of images that containers were made of. */
  inUse(): Promise<ReadonlySet<string>>
  remove(id: string): Promise<void>
}

export type ImageGarbageOptions = {
  images: ImageStore
  clock: Clock
  logger: Logger
  fileSystem(): Promise<FileSystemFacts>
  /** Shares of the disk, 0 to 100: from the high one on images go, until the low one is reached. */
  highPercent: number
  lowPercent: number
  /** Younger ones stay. */
  minAgeMs: number
  /** Unused for longer they go, however much room there is; 0 for never. */
  maxAgeMs: number
  warn(reason: string, message: string): void
}

const everyMs = 300_000

/** Removes images that nobody uses when the disk fills up: those first that nobody has used for longest. */
export class ImageGarbage implements Disposable {
  readonly #options: ImageGarbageOptions
  readonly #timer: Timer
  readonly #seen = new Map<string, { firstMs: number; lastUsedMs: number }>()

  constructor(options: ImageGarbageOptions) {
    this.#options = options
    const { clock, logger, warn } = options
    this.#timer = clock.every(everyMs, () => {
      this.collect().catch((error: unknown) => {
        logger.warn('image garbage collection failed', { error: String(error) })
        warn('ImageGCFailed', String(error instanceof Error ? error.message : error))
      })
    })
  }

  [Symbol.dispose](): void {
    this.#timer.cancel()
  }

  /** Makes room where there is too little. */
  async collect(): Promise<void> {
    const { fileSystem, highPercent, lowPercent, maxAgeMs, clock, warn } = this.#options
    const unused = await this.#unused()
    if (maxAgeMs > 0)
      await this.#remove(
        unused.filter(({ lastUsedMs }) => clock.now() - lastUsedMs > maxAgeMs),
        Number.POSITIVE_INFINITY,
      )
    const { capacityBytes, availableBytes } = await fileSystem()
    const usedPercent = 100 - Math.floor((availableBytes * 100) / Math.max(1, capacityBytes))
    if (highPercent >= 100 || usedPercent < highPercent) return
    const wantedBytes = (capacityBytes * (100 - lowPercent)) / 100 - availableBytes
    const freedBytes = await this.#remove(unused, wantedBytes)
    if (freedBytes < wantedBytes) {
      const what = `Attempted to free ${Math.round(wantedBytes)} bytes, but only found ${freedBytes} bytes eligible to free.`
      warn('FreeDiskSpaceFailed', `Failed to garbage collect required amount of images. ${what}`)
    }
  }

  /** Removes all that nobody uses. */
  async removeUnused(): Promise<void> {
    await this.#remove(await this.#unused(), Number.POSITIVE_INFINITY)
  }

  /** Longest unused first. */
  async #unused(): Promise<(StoredImage & { firstMs: number; lastUsedMs: number })[]> {
    const { images, clock } = this.#options
    const nowMs = clock.now()
    const [all, used] = await Promise.all([images.list(), images.inUse()])
    const ids = new Set(all.map(({ id }) => id))
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id)
    return all
      .map((image) => {
        const seen = this.#seen.getOrInsertComputed(image.id, () => ({ firstMs: nowMs, lastUsedMs: 0 }))
        if (used.has(image.id) || image.names.some((name) => used.has(name))) seen.lastUsedMs = nowMs
        return { ...image, firstMs: seen.firstMs, lastUsedMs: seen.lastUsedMs || seen.firstMs, isUsed: seen.lastUsedMs === nowMs }
      })
      .filter(({ isUsed, isPinned }) => !isUsed && !isPinned)
      .toSorted((one, other) => one.lastUsedMs - other.lastUsedMs || one.firstMs - other.firstMs)
  }

  async #remove(images: readonly (StoredImage & { firstMs: number })[], wantedBytes: number): Promise<number> {
    const { images: store, clock, logger, minAgeMs } = this.#options
    let freedBytes = 0
    for (const { id, names, sizeBytes, firstMs } of images) {
      if (freedBytes >= wantedBytes) break
      if (clock.now() - firstMs < minAgeMs) continue
      await store.remove(id)
      this.#seen.delete(id)
      freedBytes += sizeBytes
      logger.info('image removed: nobody uses it', { image: names[0] ?? id, sizeBytes })
    }
    return freedBytes
  }
}
