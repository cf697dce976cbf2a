/** Runs one loop against an API server, with a small server beside it, until a signal ends it. */
import { systemClock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { type HttpExchange, listenHttp } from '#base/http-server.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'

export type RunLoopOptions = {
  controller: Controller
  client: Client
  metrics: Metrics
  logger: Logger
  /** By `ADDRESS:PORT`, without TLS as upstream's: what is answered there. */
  serves?: Readonly<Record<string, (path: string) => Answer>>
}

export type Answer = { status: number; text: string }

export async function runLoop({ controller, client, metrics, logger, serves = {} }: RunLoopOptions): Promise<void> {
  const seams = { clock: systemClock, random: systemRandom, logger }
  const manager = new ControllerManager({ controllers: [controller], client, ...seams, metrics, settings: defaultSettings })
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  await runUntilSignal(lifecycle, processSignals, async () => {
    for (const [address, answer] of Object.entries(serves)) {
      await lifecycle.stage('health', async (stage) => {
        // What is served is for others to look at: without it all works as well.
        const listener = await listen(address, answer).catch((error: unknown) =>
          logger.warn('failed to serve health and metrics', { address, error: errorMessage(error) }),
        )
        if (listener) stage.defer(() => listener.close())
      })
    }
    await lifecycle.stage('controllers', async (stage) => {
      stage.defer(() => manager.stop())
      await manager.start(stage.signal)
    })
    logger.info(`${controller.name} is running`)
  })
}

function listen(address: string, answer: (path: string) => Answer) {
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(address) ?? []
  if (port === '') throw new Error(`${address} is not an address such as :8080`)
  const onExchange = (exchange: HttpExchange) => {
    const { status, text } = answer(exchange.target.split('?')[0] ?? '')
    exchange.respond(status, { 'content-type': 'text/plain; charset=utf-8' }, text)
  }
  return listenHttp({ host: host.replace(/^\[|\]$/g, '') || '0.0.0.0', port: Number(port), onExchange })
}
