import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles as files } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { systemRandom } from '#base/random.ts'
import { nodeSqlite as sqlite } from '#base/sqlite.ts'
import { readEtcdMember } from '#cmd/own-etcd/etcd-member.ts'
import type { restoreOptions, SnapshotPlace } from '#cmd/snapshot/command.ts'
import { restoreSnapshot, type SnapshotStatus, saveSnapshot, saveSnapshotOfDirectory, snapshotStatus } from '#store/snapshot.ts'

const sqliteDirectory = (dataDir: string): string => join(dataDir, 'store')

export async function save(file: string, place: SnapshotPlace): Promise<void> {
  print('saved', file, await saveSnapshotOf(file, place))
}

export async function saveSnapshotOf(file: string, place: SnapshotPlace): Promise<SnapshotStatus> {
  const store = await storeOf(place)
  if (store === 'sqlite') return saveSnapshotOfDirectory(sqliteDirectory(place.dataDir), file, { sqlite, files })
  const { openEtcdStore } = await import('#store/etcd/etcd-store.ts')
  const logger = pinoLogger({ level: 'warn' })
  // History is the running cluster's to compact.
  const reading = { clock: systemClock, logger, compactEveryMs: Number.POSITIVE_INFINITY }
  await using etcd = await openEtcdStore({ ...reading, ...(await etcdOf(store, place)) })
  return await saveSnapshot(etcd, file, files)
}

async function etcdOf(store: string, place: SnapshotPlace) {
  if (store !== 'etcd') {
    const { etcdTls } = await import('#cmd/up/open-store.ts')
    return { endpoints: store.slice(store.indexOf('//') + 2).split(','), ...(await etcdTls(place, files)) }
  }
  const [{ etcdClientUrl }, { etcdTlsOf }] = await Promise.all([
    import('#cmd/own-etcd/etcd-member.ts'),
    import('#cmd/own-etcd/open-own-etcd.ts'),
  ])
  const member = await readEtcdMember(place.dataDir, files)
  if (member === undefined) throw new Error(`no etcd is kept in ${place.dataDir}`)
  return { endpoints: [etcdClientUrl(member.address)], tls: () => etcdTlsOf(place.dataDir, files) }
}

export async function restore(file: string, options: OptionValues<typeof restoreOptions>): Promise<void> {
  const { dataDir, force } = options
  const store = options.store || 'sqlite'
  const how = { sqlite, files, processId: thisProcess.pid }
  if (store === 'sqlite')
    return print(`restored into ${dataDir} from`, file, await restoreSnapshot(file, sqliteDirectory(dataDir), { ...how, force }))
  const [{ copyStore }, { openStore }] = await Promise.all([import('#store/copy-store.ts'), import('#cmd/up/open-store.ts')])
  const seams = { clock: systemClock, random: systemRandom, files, logger: pinoLogger({ level: 'warn' }) }
  const draft = join(dataDir, 'restoring')
  try {
    const status = await restoreSnapshot(file, sqliteDirectory(draft), { ...how, force: true })
    await using source = await openStore({ ...options, dataDir: draft, store: 'sqlite' }, seams)
    await using target = await openStore({ ...options, store }, seams)
    await copyStore({ from: source, to: target, prefix: '/registry/' })
    print(`restored into ${store === 'etcd' ? `etcd in ${dataDir}` : store} from`, file, status)
  } finally {
    await files.remove(draft)
  }
}

/** Unless it is said: what the directory holds. */
async function storeOf({ store, dataDir }: SnapshotPlace): Promise<string> {
  if (store !== '') return store
  return (await readEtcdMember(dataDir, files)) === undefined ? 'sqlite' : 'etcd'
}

export async function status(file: string): Promise<void> {
  print('sound:', file, await snapshotStatus(file, files))
}

function print(what: string, file: string, { revision, keys, leases, sizeBytes, sha256 }: SnapshotStatus): void {
  thisProcess.print(`${what} ${file}\n${keys} keys, ${leases} leases, revision ${revision}, ${sizeBytes} bytes, sha256 ${sha256}`)
}
