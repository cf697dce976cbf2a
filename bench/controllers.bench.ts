/** 1,000 Deployments of 10 replicas at once, until every pod runs: with a real clock, and in virtual time; then what idling costs. */
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { type Clock, systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import { Informer } from '#client/informer/informer.ts'
import { controllers } from '#controllers/controllers.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { fakeApiServer } from '#testing/fake-cluster.ts'
import { FakeNodes } from '#testing/fake-nodes.ts'
import type { Bench } from '../scripts/bench.ts'

const deployments = Number(process.env['BENCH_DEPLOYMENTS'] ?? 1000)
const replicas = 10

export default async function (bench: Bench): Promise<void> {
  await run(bench, 'real time', systemClock, async (isDone) => {
    while (!isDone()) await systemClock.sleep(20)
  })
  const clock = new VirtualClock()
  await run(bench, 'virtual time', clock, async (isDone) => {
    while (!isDone()) await clock.advance(100)
  })
}

async function run(bench: Bench, name: string, clock: Clock, waitFor: (isDone: () => boolean) => Promise<void>): Promise<void> {
  const random = seededRandom(1)
  /** In virtual time nothing that waits goes on unless time is made to pass. */
  const settled = async <T>(promise: Promise<T>): Promise<T> => {
    let isSettled = false
    const note = () => {
      isSettled = true
    }
    promise.then(note, note)
    await waitFor(() => isSettled)
    return promise
  }
  const server = await fakeApiServer(clock, random)
  const connection = new TrustedConnection({ name: 'admin', groups: ['system:masters'], extra: {} })
  const client = new Client({ transport: inProcessTransport(inProcess(server.server.handler.handle, connection)), userAgent: 'bench' })
  const nodes = new FakeNodes(client, clock, random, { nodeCount: 50, startMs: 0, endMs: 0 })
  await settled(nodes.start())
  const manager = new ControllerManager({
    controllers: selectControllers(controllers, ['*', '-nodelifecycle']),
    client,
    clock,
    random,
    logger: silentLogger,
    settings: defaultSettings,
  })
  await settled(manager.start())
  const watched = new Informer({ client, clock, random, kind: Deployment, logger: silentLogger })
  const available = new Set<string>()
  watched.addHandler({
    onUpdate: ({ metadata, status }) => {
      if (status?.availableReplicas === replicas) available.add(metadata.name ?? '')
    },
  })
  watched.start()
  await settled(watched.synced)

  const startedMs = performance.now()
  const before = process.cpuUsage()
  const created = Promise.all(Array.from({ length: deployments }, (_, index) => client.create(Deployment, aDeployment(`web-${index}`))))
  await waitFor(() => available.size === deployments)
  await settled(created)
  const cpu = process.cpuUsage(before)
  const seconds = (performance.now() - startedMs) / 1000
  bench.report({
    case: `${deployments} deployments of ${replicas}, ${name}`,
    figure: seconds,
    unit: 's',
    comparedWith: 'limit 20 s',
    ratio: seconds / 20,
  })
  bench.report({ case: `the same, ${name}: CPU`, figure: (cpu.user + cpu.system) / 1e6, unit: 's' })
  if (clock === systemClock) {
    await systemClock.sleep(5000)
    const idle = process.cpuUsage()
    await systemClock.sleep(10_000)
    const spent = process.cpuUsage(idle)
    bench.report({
      case: `idle with ${deployments * replicas} pods`,
      figure: (spent.user + spent.system) / 1e5,
      unit: '% of a core',
      comparedWith: 'limit 2 %',
    })
    bench.report({ case: 'queues are empty while idle', figure: Number(manager.isIdle), unit: 'yes is 1' })
  }
  watched.stop()
  nodes.stop()
  await settled(manager.stop())
  await server.stop()
}

function aDeployment(name: string) {
  const labels = { app: name }
  const spec = { containers: [{ name: 'main', image: 'registry.example.com/app:1' }] }
  return {
    metadata: { namespace: 'default', name },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}
