import { EmbeddedStore, type EmbeddedStoreOptions } from '#store/embedded/embedded-store.ts'
import type { Journal, JournalListener } from '#store/embedded/journal.ts'

/** A store that lasts as long as the process: for tests and virtual time. Every commit is done when the call returns. */
export class MemoryStore extends EmbeddedStore {
  constructor(options: EmbeddedStoreOptions) {
    super(options, noJournal())
  }
}

function noJournal(): Journal {
  let listener: JournalListener | undefined
  return {
    start(to) {
      listener = to
    },
    append() {
      listener?.onSettled(1)
    },
    forget() {},
    size: async () => ({ totalBytes: 0, usedBytes: 0 }),
    async close() {},
  }
}
