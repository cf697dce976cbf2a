/** Runs the controller against the cluster that kubectl would talk to, or the one it runs in. */
import { openClient, pinoLogger, runOperator } from '#index.ts'
import { Foo } from './foo.ts'
import { fooController } from './foo-controller.ts'

using client = await openClient({ userAgent: 'sample-controller' })
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
await runOperator({
  name: 'sample-controller',
  client,
  resources: [Foo],
  controllers: [fooController],
  leaderElection: { namespace: 'default' },
  health: { port: 8081 },
  logger: pinoLogger({ level: 'info' }),
  signal: stop.signal,
})
