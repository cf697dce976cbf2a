/** A thread that serves the API beside the main one. */
import type { AuditBackend } from '#apiserver/audit/auditor.ts'
import { type RunningApiServer, runApiServer } from '#apiserver/run-api-server.ts'
import { systemClock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'
import type { LogFields, Logger, LogLevel } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import { threadSide } from '#base/worker.ts'
import { sharedApiServerOptions } from '#cmd/up/api-server.ts'
import { CopiedKeys } from '#cmd/up/api-workers/copied-keys.ts'
import type { FromWorker, ToWorker, WorkerStart } from '#cmd/up/api-workers/worker-messages.ts'
import { openThreadStore } from '#store/thread/thread-store.ts'
import type { StoreMessage } from '#store/thread/thread-store-protocol.ts'

/** Half of what the main thread waits for at the end. */
const drainMs = 1000

const side = threadSide<ToWorker, FromWorker>()
const metrics = new Metrics()
let receiveFromStore: (message: StoreMessage) => void = () => {}
let keys: CopiedKeys | undefined
let running: RunningApiServer | undefined

side.onMessage((message) => {
  if ('store' in message) receiveFromStore(message.store)
  else if ('start' in message) start(message.start).catch((error: unknown) => side.post({ failed: errorMessage(error) }))
  else if ('keys' in message) keys?.replace(message.keys, message.changed)
  else if ('metrics' in message) side.post({ metrics: message.metrics, text: metrics.text() })
  else void drain()
})

async function start({ options, addresses, port, socketPath, keys: copy, logsDebug }: WorkerStart): Promise<void> {
  const logger = postingLogger(logsDebug)
  keys = new CopiedKeys(copy)
  const store = await openThreadStore(systemClock, {
    post: (request) => side.post({ store: request }),
    onMessage: (receive) => {
      receiveFromStore = receive
    },
  })
  const seams = { clock: systemClock, random: systemRandom, files: nodeFiles, logger }
  running = await runApiServer({
    ...(await sharedApiServerOptions({ store, keys, options, addresses }, seams)),
    metrics,
    listen: { host: options.listen, port, sharesPort: 'another' },
    firstServer: { socketPath },
    auditBackends: [auditPost],
  })
  side.post({ ready: true })
}

async function drain(): Promise<void> {
  await running?.drain(systemClock.sleep(drainMs))
  side.post({ drained: true })
}

/** The main thread keeps all events, in one file. */
const auditPost: AuditBackend = {
  name: 'main thread',
  process: (event) => side.post({ audit: event }),
  close: async () => {},
}

function postingLogger(isDebug: boolean, bound: LogFields = {}): Logger {
  const write =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      side.post({ log: { level, message, fields: JSON.parse(JSON.stringify({ ...bound, ...fields })) } })
  return {
    debug: isDebug ? write('debug') : () => {},
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: (fields) => postingLogger(isDebug, { ...bound, ...fields }),
    isDebug,
  }
}
