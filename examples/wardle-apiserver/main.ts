/** Runs the wardle API server on this machine, behind the cluster that kubectl would talk to. */
import { networkInterfaces } from 'node:os'
import { openClient, pinoLogger } from '#index.ts'
import { publishService } from './publish-service.ts'
import { registerWardleServer, startWardleServer } from './wardle-server.ts'

const service = { namespace: 'wardle', name: 'api' }
const address = Object.values(networkInterfaces())
  .flat()
  .find((each) => each !== undefined && !each.internal && each.family === 'IPv4')?.address
if (address === undefined) throw new Error('this machine has no address that a service could lead to')

const client = await openClient({ userAgent: 'wardle' })
const server = await startWardleServer({
  client,
  service,
  dataDir: process.argv[2] ?? 'wardle-data',
  logger: pinoLogger({ level: 'info' }),
})
await publishService(client, service, { address, port: server.port })
await registerWardleServer(client, service, server.caBundle)
console.log(`wardle.example.com is served on port ${server.port}; try: kubectl api-resources --api-group wardle.example.com`)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void server.stop().then(() => process.exit(0)))
