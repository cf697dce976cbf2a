/** Where API servers that share a store can be reached: each keeps a key there, and all of them make the `kubernetes` endpoints of it. */
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { LeaseNotFoundError, type Store } from '#store/store.ts'

const prefix = '/registry/masterleases/'
const ttlSeconds = 15
const renewEveryMs = 10_000

export type ServerAddress = { address: string; port: number }

export type SharedAddressesOptions = ServerAddress & {
  store: Store
  clock: Clock
  logger: Logger
  /** Called with all that are there, first to last, whenever that changes. */
  publish(addresses: readonly ServerAddress[]): Promise<void>
}

/** Keeps this server's key until disposed of; the others see it go then, or 15 seconds after a crash. */
export async function shareAddress({ store, clock, logger, address, port, publish }: SharedAddressesOptions): Promise<AsyncDisposable> {
  const key = `${prefix}${address}:${port}`
  const value = Buffer.from(JSON.stringify({ address, port }))
  let lease: bigint | undefined
  const renew = async () => {
    try {
      if (lease !== undefined) {
        await store.keepLeaseAlive(lease)
        return
      }
    } catch (error) {
      if (!(error instanceof LeaseNotFoundError)) throw error
    }
    lease = (await store.grantLease(ttlSeconds)).id
    await store.txn({ success: [{ put: { key, value, lease } }] })
  }
  let isDue = false
  let running: Promise<void> | undefined
  const report = (error: unknown) => logger.warn('failed to update endpoints of the kubernetes service', { error: String(error) })
  const refresh = () => {
    isDue = true
    running ??= (async () => {
      while (isDue) {
        isDue = false
        const { kvs } = await store.range({ prefix })
        await publish(kvs.map(({ value: bytes }) => JSON.parse(Buffer.from(bytes).toString()) as ServerAddress))
      }
    })()
      .catch(report)
      .finally(() => {
        running = undefined
      })
    return running
  }
  await renew()
  const watch = store.watch({ prefix, onEvents: () => void refresh() })
  const timer = clock.every(renewEveryMs, () => void renew().catch(report))
  await refresh()
  return {
    async [Symbol.asyncDispose]() {
      timer.cancel()
      watch.cancel()
      if (lease !== undefined) await store.revokeLease(lease).catch(report)
    },
  }
}
