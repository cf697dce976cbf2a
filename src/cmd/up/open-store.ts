import { join } from 'node:path'
import { thisProcess } from '#base/machine.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import type { Store } from '#store/store.ts'

/** The store that `--store` names. Backends are loaded only when they are chosen. */
export async function openStore({ store, dataDir }: UpOptions, { clock, logger }: ClusterSeams): Promise<Store> {
  if (store === 'memory') {
    const { MemoryStore } = await import('#store/memory/memory-store.ts')
    return new MemoryStore({ clock })
  }
  if (store === 'sqlite') {
    const { openSqliteStore } = await import('#store/sqlite/sqlite-store.ts')
    return openSqliteStore({ clock, logger, dataDir: join(dataDir, 'store'), processId: thisProcess.pid })
  }
  throw new Error(`--store: ${store} is neither sqlite, memory nor etcd://HOST:PORT,…`)
}
