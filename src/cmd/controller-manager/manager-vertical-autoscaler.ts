import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import { type ActingClients, clientAsAccount } from '#cmd/controller-manager/client-as-account.ts'
import { startVerticalAutoscaler } from '#controllers/vertical-pod-autoscaler/start-vertical-autoscaler.ts'

const retryMs = 10_000

/** What `up --vertical-pod-autoscaler` has; resolves when the signal has aborted and all has ended. */
export async function runManagerVerticalAutoscaler(
  options: ActingClients & { clock: Clock; random: Random; logger: Logger; signal: AbortSignal },
): Promise<void> {
  const { clock, signal, logger } = options
  while (!signal.aborted) {
    await using running = new AsyncDisposableStack()
    try {
      const client = await clientAsAccount('vpa-recommender', options)
      await startVerticalAutoscaler(running, { ...options, client })
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    } catch (error) {
      if (signal.aborted) return
      logger.warn('failed to start vertical pod autoscaler, retrying', { error: errorMessage(error), retryMs })
      await clock.sleep(retryMs, signal).catch(() => {})
    }
  }
}
