/** Where API servers that share a store can be reached: each keeps a key there, and all of them make the `kubernetes` endpoints of it. */
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { LeaseNotFoundError, type Store } from '#store/store.ts'

const prefix = '/registry/masterleases/'
const ttlSeconds = 15
const renewEveryMs = 10_000
/** After one that failed: there is not time enough for another period. */
const retryMs = 1000

/** `peer` is how the other API servers reach it, `host:port`, where that differs. */
export type ServerAddress = { address: string; port: number; peer?: string | undefined }

export type SharedAddressesOptions = ServerAddress & {
  store: Store
  clock: Clock
  logger: Logger
  /** Aborts when this server is about to end, and goes on serving for a while: nobody shall be sent here any more. */
  leaving?: AbortSignal
  /** Called with all that are there, first to last, whenever that changes. */
  publish(addresses: readonly ServerAddress[]): Promise<void>
}

/** Keeps this server's key until it leaves or is disposed of; the others see it go then, or 15 seconds after a crash. */
export async function shareAddress(options: SharedAddressesOptions): Promise<AsyncDisposable> {
  const { store, clock, logger, address, port, peer, leaving, publish } = options
  const key = `${prefix}${address}:${port}`
  const value = Buffer.from(JSON.stringify({ address, port, peer }))
  let lease: bigint | undefined
  let left: Promise<void> | undefined
  const renew = async () => {
    try {
      if (lease !== undefined) {
        await store.keepLeaseAlive(lease)
        return
      }
    } catch (error) {
      if (!(error instanceof LeaseNotFoundError)) throw error
    }
    if (left !== undefined) return
    lease = (await store.grantLease(ttlSeconds)).id
    await store.txn({ success: [{ put: { key, value, lease } }] })
  }
  let isOver = false
  let timer: Timer | undefined
  const renewLater = (delayMs: number) => {
    if (isOver) return
    timer = clock.after(delayMs, () => {
      renew().then(
        () => renewLater(renewEveryMs),
        (error: unknown) => {
          report(error)
          renewLater(retryMs)
        },
      )
    })
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
        const known = kvs.map(({ value: bytes }) => JSON.parse(Buffer.from(bytes).toString()) as ServerAddress)
        // Who asks lives, though its key may have gone while the store was away: others might know no way but those of the dead.
        const isKnown = known.some((each) => each.address === address && each.port === port)
        await publish(isKnown || isOver ? known : [...known, { address, port }])
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
  renewLater(renewEveryMs)
  await refresh()
  const leave = () => {
    isOver = true
    timer?.cancel()
    watch.cancel()
    left ??= lease === undefined ? Promise.resolve() : store.revokeLease(lease).catch(report)
    return left
  }
  leaving?.addEventListener('abort', leave, { once: true })
  return { [Symbol.asyncDispose]: leave }
}
