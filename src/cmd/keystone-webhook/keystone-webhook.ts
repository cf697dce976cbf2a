import { keystoneAuthentication } from '#apiserver/authn/keystone.ts'
import { systemClock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { type HttpExchange, listenHttp } from '#base/http-server.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { servingFiles } from '#cmd/apiserver/serving-files.ts'
import type { keystoneWebhookOptions } from '#cmd/keystone-webhook/command.ts'
import { reviewToken } from '#cmd/keystone-webhook/review-token.ts'
import { loggerOf } from '#cmd/logger-of.ts'

/** Tokens are shorter. */
const bodyLimitBytes = 1 << 20
const seams = { clock: systemClock, random: systemRandom, files: nodeFiles }

/** Runs until a signal ends it. */
export async function runKeystoneWebhook(options: OptionValues<typeof keystoneWebhookOptions>): Promise<void> {
  const { keystoneUrl: url, keystoneCaFile, listen } = options
  if (url === '') throw new Error('--keystone-url must be specified')
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(listen) ?? []
  if (port === '') throw new Error(`--listen: ${listen} is not an address such as 127.0.0.1:8443`)
  const logger = loggerOf(options)
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  await runUntilSignal(lifecycle, processSignals, async () => {
    await lifecycle.stage('webhook', async (stage) => {
      const http = stage.use(nodeHttpClient(keystoneCaFile === '' ? {} : { ca: await nodeFiles.readText(keystoneCaFile) }))
      const { tokens } = keystoneAuthentication({ url, http, clock: systemClock, random: systemRandom })
      const names = { dnsNames: ['localhost', thisMachine().hostname], ipAddresses: ['127.0.0.1', '::1', ...thisMachine().addresses()] }
      const { certificate, key } = await servingFiles({ ...options, ...names }, seams)
      const tls = { cert: await nodeFiles.readText(certificate), key: await nodeFiles.readText(key) }
      const answer = async (exchange: HttpExchange) => {
        if (exchange.target === '/healthz') return exchange.respond(200, { 'content-type': 'text/plain' }, 'ok')
        if (exchange.target !== '/webhook' || exchange.method !== 'POST') return exchange.respond(404, {}, '')
        const { status, body } = await reviewToken((await exchange.readBody(bodyLimitBytes)).toString('utf8'), tokens)
        exchange.respond(status, { 'content-type': 'application/json' }, JSON.stringify(body))
      }
      const onExchange = (exchange: HttpExchange) =>
        void answer(exchange).catch((error: unknown) => logger.warn('failed to answer a request', { error: errorMessage(error) }))
      const listener = await listenHttp({ host, port: Number(port), tls, onExchange })
      stage.defer(() => listener.close())
      thisProcess.print(`The Keystone webhook is ready at https://${host}:${listener.port}/webhook`)
    })
  })
  thisProcess.exit(0)
}
