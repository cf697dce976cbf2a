import type { Logger } from '#base/log.ts'
import { EmbeddedStore, type EmbeddedStoreOptions } from '#store/embedded/embedded-store.ts'
import { VersionedChange } from '#store/mvcc/history.ts'
import type { Version } from '#store/mvcc/key-index.ts'
import type { Mvcc } from '#store/mvcc/mvcc.ts'
import { type FileChannel, threadChannel } from '#store/sqlite/file-client.ts'
import { readRecord } from '#store/sqlite/record.ts'
import { SqliteJournal } from '#store/sqlite/sqlite-journal.ts'
import type { Opened } from '#store/sqlite/thread-protocol.ts'

export type SqliteStoreOptions = EmbeddedStoreOptions & {
  /** Where `store.db` lies; made where it is missing. */
  dataDir: string
  /** Told to others who want the same directory. */
  processId: number
  logger: Logger
  /** The thread that owns the file, unless a test puts something else there. */
  startFile?: () => FileChannel
}

/**
 * One file on one machine. Reads come from memory; a write is acknowledged when SQLite has synced it.
 * Throws where the directory is in use, cannot be written, or holds something that is not a sound store.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const place = { directory: options.dataDir, processId: options.processId }
  const { clock, logger, startFile = threadChannel } = options
  const journal = new SqliteJournal({ clock, logger, place, startFile })
  let store: SqliteStore | undefined
  try {
    store = new SqliteStore(options, journal, await journal.open())
    await store.load()
    return store
  } catch (error) {
    await (store ?? journal).close()
    throw error
  }
}

export class SqliteStore extends EmbeddedStore {
  readonly #journal: SqliteJournal

  constructor(options: SqliteStoreOptions, journal: SqliteJournal, opened: Opened) {
    super(options, journal)
    this.#journal = journal
    const { mvcc, leases } = this.contents
    for (const { id, grantedSeconds } of opened.leases) leases.add(grantedSeconds, id)
    mvcc.startAt(opened.revision, opened.compacted)
  }

  /** Before anything else: the store is empty until then. */
  async load(): Promise<void> {
    const { mvcc } = this.contents
    const superseded: Version[] = []
    await this.#journal.load((part) => restoreRecords(mvcc, part, (version) => superseded.push(version)))
    for (const version of superseded) this.#journal.forget(version)
    this.startAging()
  }

  /** Rewrites the file without gaps; writes wait meanwhile, reads do not. */
  async defragment(): Promise<void> {
    await this.whenForgotten()
    await this.#journal.vacuum()
  }
}

function restoreRecords(mvcc: Mvcc, part: Uint8Array, onForgotten: (version: Version) => void): void {
  const buffer = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
  let change: VersionedChange | undefined
  for (let at = 0; at < buffer.length; ) {
    const { row, revision, createRevision, version, lease, isDeleted, key, value, end } = readRecord(buffer, at)
    if (change?.revision !== revision) {
      if (change) mvcc.restore(change, onForgotten)
      change = new VersionedChange(revision)
    }
    const kv = { key, value, createRevision, modRevision: revision, version, lease }
    change.versions.push({ kv, deleted: isDeleted, older: mvcc.peek(key), row })
    at = end
  }
  if (change) mvcc.restore(change, onForgotten)
}
