/** Backups: one file with the newest state of a store, checked by its checksum whenever it is read. */
import { dirname } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Sqlite, SqliteDatabase } from '#base/sqlite.ts'
import { openSnapshot } from '#store/snapshot/snapshot-file.ts'
import { type SnapshotStream, snapshotOf, snapshotStream } from '#store/snapshot/snapshot-stream.ts'
import { lockDirectory } from '#store/sqlite/directory-lock.ts'
import { insertLogRow, writeRecords } from '#store/sqlite/log-rows.ts'
import { readNewest } from '#store/sqlite/read-newest.ts'
import { recordBytes, writeRecord } from '#store/sqlite/record.ts'
import { createStoreFile, openStoreFile, storePath, syncDirectory } from '#store/sqlite/schema.ts'
import { SummaryWriter } from '#store/sqlite/summary.ts'
import { type Store, StoreError } from '#store/store.ts'

export type SnapshotStatus = { revision: number; keys: number; leases: number; sizeBytes: number; sha256: string }

/** The directory holds a store, and nobody said that it may be replaced. */
class WouldOverwriteError extends StoreError {
  override name = 'WouldOverwriteError'
}

/**
 * How far a restored store's revision is put ahead of the snapshot's. Clients remember revisions of the time between: the gap
 * lies in front of all of those and is compacted, so that they are told to list again instead of missing changes.
 */
const revisionGap = 1_000_000_000

/** Saves the state of an open store; it goes on serving meanwhile. */
export async function saveSnapshot(store: Store, file: string, files: Files): Promise<SnapshotStatus> {
  return write(await snapshotOf(store), file, files)
}

/** Saves the state of a data directory, whether or not another process is using it. Blocks its thread while it reads. */
export async function saveSnapshotOfDirectory(
  dataDir: string,
  file: string,
  { sqlite, files }: { sqlite: Sqlite; files: Files },
): Promise<SnapshotStatus> {
  const path = storePath(dataDir)
  if (!(await files.stat(path))) throw new StoreError(`there is no store in ${dataDir}`)
  const { kvs, revision, leases } = readNewest(sqlite, path)
  return write(snapshotStream(kvs, revision, leases), file, files)
}

/** Reads and checks a snapshot. */
export async function snapshotStatus(file: string, files: Files): Promise<SnapshotStatus> {
  await using snapshot = await openSnapshot(files, file)
  const { header, sizeBytes, sha256 } = snapshot
  return { revision: header.revision, keys: header.keys, leases: header.leases.length, sizeBytes, sha256 }
}

export type RestoreOptions = {
  sqlite: Sqlite
  files: Files
  processId: number
  /** Replaces a store that is there already. */
  force?: boolean
}

/** Makes a data directory of a snapshot. Either all of it is there afterwards or what was there before. Blocks its thread while it writes. */
export async function restoreSnapshot(file: string, dataDir: string, options: RestoreOptions): Promise<SnapshotStatus> {
  const { sqlite, files, processId, force = false } = options
  const path = storePath(dataDir)
  await using snapshot = await openSnapshot(files, file)
  const { header, sizeBytes, sha256 } = snapshot
  await files.makeDirectory(dataDir)
  using _lock = lockDirectory(sqlite, dataDir, processId)
  if ((await files.stat(path)) && !force) {
    throw new WouldOverwriteError(
      `there is a store in ${dataDir} already; use --force to replace it, or choose another --data-dir. Nothing was changed.`,
    )
  }
  if (await files.stat(path)) foldLog(sqlite, path)
  await createStoreFile(sqlite, files, path, async (database) => {
    const revision = header.revision + revisionGap
    database.exec('BEGIN')
    const insert = insertLogRow(database)
    for await (const record of snapshot.records()) {
      const bytes = Buffer.alloc(recordBytes(record.key, record.value))
      writeRecord(bytes, 0, record)
      writeRecords(insert, bytes)
    }
    writeCounters(database, revision, header.leases)
    database.exec('COMMIT')
    // Otherwise it would be taken for the new store's.
    for (const suffix of ['-wal', '-shm']) await files.remove(`${path}${suffix}`)
  })
  return { revision: header.revision, keys: header.keys, leases: header.leases.length, sizeBytes, sha256 }
}

/** Brings what is in the old store's write-ahead log into its file, so that the file is whole until it is replaced. */
function foldLog(sqlite: Sqlite, path: string): void {
  try {
    openStoreFile(sqlite, path).close()
  } catch {
    // A damaged store is often why a snapshot is restored.
  }
}

function writeCounters(database: SqliteDatabase, revision: number, leases: { id: string; grantedSeconds: number }[]): void {
  const summary = new SummaryWriter(database)
  summary.count('revision', revision)
  summary.count('compacted', revision)
  for (const { id, grantedSeconds } of leases) summary.grant(BigInt(id), grantedSeconds)
}

async function write(stream: SnapshotStream, file: string, files: Files): Promise<SnapshotStatus> {
  const draft = `${file}.draft`
  await files.remove(draft)
  {
    await using out = await files.open(draft, 'w')
    for (const part of stream.parts) await out.write(part)
    await out.sync()
  }
  const status = await snapshotStatus(draft, files)
  await files.rename(draft, file)
  await syncDirectory(files, dirname(file))
  return status
}
