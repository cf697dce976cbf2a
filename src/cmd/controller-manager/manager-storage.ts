/** The storage of a cluster whose components run alone. */
import { CSINode } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSINode } from '#api/storage/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { clientAsAccount } from '#cmd/controller-manager/client-as-account.ts'
import { localDriverName } from '#controllers/csi/local-caller.ts'
import { startStorage } from '#controllers/csi/start-storage.ts'

export type ManagerStorageOptions = {
  client: Client
  /** Absent: everything is done as the manager itself. */
  clientFor?: (account: string) => Promise<Client>
  clock: Clock
  random: Random
  logger: Logger
  signal: AbortSignal
}

/** Its rights are the ClusterRole typernetes:storage. */
const account = 'typernetes-storage'
const retryMs = 10_000

/**
 * What `up` has, from the time on at which a kubelet is there that can be asked for it: in a cluster with other kubelets nobody gets a class
 * that makes no volumes. Resolves when the signal has aborted and all has ended.
 */
export async function runManagerStorage(options: ManagerStorageOptions): Promise<void> {
  const { clock, signal } = options
  const logger = options.logger.with({ part: 'storage' })
  while (!signal.aborted) {
    await using running = new AsyncDisposableStack()
    try {
      const client = await clientAsAccount(account, options)
      await ownKubelet(client, { ...options, logger })
      await startStorage(running, { ...options, client, logger, isDefault: true })
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    } catch (error) {
      if (signal.aborted) return
      logger.warn('failed to start storage, retrying', { error: errorMessage(error), retryMs })
      await clock.sleep(retryMs, signal).catch(() => {})
    }
  }
}

/** Resolves when a node has the driver that every kubelet of ours has built in. */
async function ownKubelet(client: Client, { clock, random, logger, signal }: ManagerStorageOptions): Promise<void> {
  const nodes = new Informer({ client, clock, random, logger, kind: CSINode })
  try {
    await new Promise<void>((resolve, reject) => {
      const look = ({ spec }: V1CSINode) => {
        if (spec.drivers?.some(({ name }) => name === localDriverName)) resolve()
      }
      nodes.addHandler({ onAdd: look, onUpdate: look })
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      nodes.start()
    })
  } finally {
    nodes.stop()
  }
}
