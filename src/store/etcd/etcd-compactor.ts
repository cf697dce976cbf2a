import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { CompactedError, type Store } from '#store/store.ts'

/** Where API servers agree on who compacts; upstream's name for it, so that both can share one etcd. */
const compactionKey = 'compact_rev_key'

/**
 * Lets etcd forget what is older than one to two periods. Of several API servers on one etcd, whoever gets to raise the key's
 * version compacts, up to the revision that was the newest one period ago.
 */
export class EtcdCompactor {
  readonly #store: Store
  readonly #logger: Logger
  readonly #timer: Timer
  #version = 0
  #revision = 0

  constructor(store: Store, { clock, logger, periodMs }: { clock: Clock; logger: Logger; periodMs: number }) {
    this.#store = store
    this.#logger = logger
    this.#timer = clock.every(periodMs, () => {
      this.#compact().catch((error: Error) => this.#logger.warn('failed to compact etcd', { error: error.message }))
    })
  }

  close(): void {
    this.#timer.cancel()
  }

  async #compact(): Promise<void> {
    const revision = this.#revision
    const {
      succeeded,
      results,
      revision: newest,
    } = await this.#store.txn({
      compare: [{ key: compactionKey, target: 'version', op: '=', value: this.#version }],
      success: [{ put: { key: compactionKey, value: Buffer.from(String(revision)) } }],
      failure: [{ range: { key: compactionKey } }],
    })
    this.#revision = newest
    const [found] = results
    if (!succeeded) {
      this.#version = found && 'range' in found ? (found.range.kvs[0]?.version ?? 0) : 0
      return
    }
    this.#version++
    if (revision === 0) return
    await this.#store.compact(revision).catch((error) => {
      if (!(error instanceof CompactedError)) throw error
    })
  }
}
