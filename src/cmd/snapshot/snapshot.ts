import { join } from 'node:path'
import { nodeFiles as files } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeSqlite as sqlite } from '#base/sqlite.ts'
import { restoreSnapshot, type SnapshotStatus, saveSnapshotOfDirectory, snapshotStatus } from '#store/snapshot.ts'

type Place = { dataDir: string }

export async function save(file: string, { dataDir }: Place): Promise<void> {
  print('saved', file, await saveSnapshotOfDirectory(join(dataDir, 'store'), file, { sqlite, files }))
}

export async function restore(file: string, { dataDir, force }: Place & { force: boolean }): Promise<void> {
  const status = await restoreSnapshot(file, join(dataDir, 'store'), { sqlite, files, processId: thisProcess.pid, force })
  print(`restored into ${dataDir} from`, file, status)
}

export async function status(file: string): Promise<void> {
  print('sound:', file, await snapshotStatus(file, files))
}

function print(what: string, file: string, { revision, keys, leases, sizeBytes, sha256 }: SnapshotStatus): void {
  thisProcess.print(`${what} ${file}\n${keys} keys, ${leases} leases, revision ${revision}, ${sizeBytes} bytes, sha256 ${sha256}`)
}
