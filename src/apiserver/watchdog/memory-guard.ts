import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { MeasureMemory } from '#base/memory-use.ts'
import type { Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type MemoryGuardOptions = {
  clock: Clock
  logger: Logger
  metrics: Metrics
  measure: MeasureMemory
  /** Of resident memory; 0 leaves the limit to the heap's own. */
  limitBytes: number
}

/** Beyond this share of a limit new work is refused: what is under way needs the rest. */
const fullShare = 0.9
/** Once refused, there is to be this much room again. */
const roomShare = 0.8
/** A look costs some microseconds. */
const lookEveryMs = 50

/** Says when there is too little memory for new work, so that the process lives to finish what it has begun. */
export class MemoryGuard {
  readonly #options: MemoryGuardOptions
  #lookedMs = Number.NEGATIVE_INFINITY
  #isShort = false

  constructor(options: MemoryGuardOptions) {
    this.#options = options
    options.metrics.measured('apiserver_memory_short', 'Whether new requests are refused for want of memory', () => (this.#isShort ? 1 : 0))
  }

  /** For those that need much: resolves when there is room, or with false when there is none in time. */
  async hasRoomWithin(patienceMs: number): Promise<boolean> {
    const { clock } = this.#options
    for (const endMs = clock.monotonic() + patienceMs; this.isShort; ) {
      if (clock.monotonic() >= endMs) return false
      await clock.sleep(lookEveryMs)
    }
    return true
  }

  get isShort(): boolean {
    const { clock, measure, limitBytes, logger } = this.#options
    const nowMs = clock.monotonic()
    if (nowMs - this.#lookedMs < lookEveryMs) return this.#isShort
    this.#lookedMs = nowMs
    const use = measure()
    const { heapUsedBytes, heapLimitBytes } = use
    const share = Math.max(heapUsedBytes / heapLimitBytes, limitBytes > 0 ? use.residentBytes / limitBytes : 0)
    const isShort = share > (this.#isShort ? roomShare : fullShare)
    if (isShort !== this.#isShort) {
      const figures = { residentBytes: use.residentBytes, heapUsedBytes, heapLimitBytes, ...omitEmpty({ limitBytes }) }
      if (isShort) logger.warn('memory is short: new requests are refused with 429 until there is room', figures)
      else logger.info('memory suffices again: requests are taken', figures)
    }
    this.#isShort = isShort
    return isShort
  }
}
