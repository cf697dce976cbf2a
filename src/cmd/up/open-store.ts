import { join } from 'node:path'
import type { GrpcTls } from '#base/grpc.ts'
import { thisProcess } from '#base/machine.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { prepareDataDirectory } from '#cmd/up/data-directory.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import type { Store } from '#store/store.ts'

/** The store that `--store` names. Backends are loaded only when they are chosen. */
export async function openStore(
  options: Pick<UpOptions, 'store' | 'dataDir' | 'listen' | 'etcdCafile' | 'etcdCertfile' | 'etcdKeyfile'>,
  { clock, random, files, logger: ownLogger }: Pick<ClusterSeams, 'clock' | 'random' | 'files' | 'logger'>,
): Promise<Store> {
  const { store, dataDir } = options
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
  if (store === 'etcd') {
    const [{ openEtcdStore }, { openOwnEtcd }] = await Promise.all([
      import('#store/etcd/etcd-store.ts'),
      import('#cmd/own-etcd/open-own-etcd.ts'),
    ])
    return openEtcdStore({ clock, logger, ...(await openOwnEtcd(options, { clock, random, files, logger: ownLogger })) })
  }
  if (store.startsWith('etcd://') || store.startsWith('etcds://')) {
    const { openEtcdStore } = await import('#store/etcd/etcd-store.ts')
    const endpoints = store.slice(store.indexOf('//') + 2).split(',')
    return openEtcdStore({ clock, logger, endpoints, ...(await etcdTls(options, files)) })
  }
  throw new Error(`--store: ${store} is neither sqlite, memory, etcd nor etcd://HOST:PORT,…`)
}

/** As upstream's flags of these names; none of them means no TLS. Files are read again when a connection fails: they may have been renewed. */
export async function etcdTls(
  { etcdCafile, etcdCertfile, etcdKeyfile }: Pick<UpOptions, 'etcdCafile' | 'etcdCertfile' | 'etcdKeyfile'>,
  files: ClusterSeams['files'],
): Promise<{ tls?: () => Promise<GrpcTls> }> {
  if (etcdCafile === '' && etcdCertfile === '') return {}
  const read = async (name: string, path: string) => (path === '' ? {} : { [name]: await files.readText(path) })
  const tls = async () => ({
    ...(await read('authority', etcdCafile)),
    ...(await read('certificate', etcdCertfile)),
    ...(await read('key', etcdKeyfile)),
  })
  // Said at the start, where a file cannot be read.
  await tls()
  return { tls }
}
