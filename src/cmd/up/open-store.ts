import { join } from 'node:path'
import { thisProcess } from '#base/machine.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { prepareDataDirectory } from '#cmd/up/data-directory.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import type { Store } from '#store/store.ts'

/** The store that `--store` names. Backends are loaded only when they are chosen. */
export async function openStore(
  {
    store,
    dataDir,
    etcdCafile,
    etcdCertfile,
    etcdKeyfile,
  }: Pick<UpOptions, 'store' | 'dataDir' | 'etcdCafile' | 'etcdCertfile' | 'etcdKeyfile'>,
  { clock, files, logger: ownLogger }: Pick<ClusterSeams, 'clock' | 'files' | 'logger'>,
): Promise<Store> {
  const logger = ownLogger.with({ component: 'store' })
  await prepareDataDirectory(files, dataDir)
  if (store === 'memory') {
    const { MemoryStore } = await import('#store/memory/memory-store.ts')
    return new MemoryStore({ clock })
  }
  if (store === 'sqlite') {
    const { openSqliteStore } = await import('#store/sqlite/sqlite-store.ts')
    return openSqliteStore({ clock, logger, dataDir: join(dataDir, 'store'), processId: thisProcess.pid })
  }
  if (store.startsWith('etcd://') || store.startsWith('etcds://')) {
    const { openEtcdStore } = await import('#store/etcd/etcd-store.ts')
    const endpoints = store.slice(store.indexOf('//') + 2).split(',')
    return openEtcdStore({ clock, logger, endpoints, ...(await etcdTls({ etcdCafile, etcdCertfile, etcdKeyfile }, files)) })
  }
  throw new Error(`--store: ${store} is neither sqlite, memory nor etcd://HOST:PORT,…`)
}

/** As upstream's flags of these names; none of them means no TLS. */
export async function etcdTls(
  { etcdCafile, etcdCertfile, etcdKeyfile }: Pick<UpOptions, 'etcdCafile' | 'etcdCertfile' | 'etcdKeyfile'>,
  files: ClusterSeams['files'],
): Promise<{ tls?: { authority?: string; certificate?: string; key?: string } }> {
  if (etcdCafile === '' && etcdCertfile === '') return {}
  const read = async (name: string, path: string) => (path === '' ? {} : { [name]: await files.readText(path) })
  return {
    tls: { ...(await read('authority', etcdCafile)), ...(await read('certificate', etcdCertfile)), ...(await read('key', etcdKeyfile)) },
  }
}
