/**
 * A day of 1,000 Deployments, 10,000 pods and 500 nodes in virtual time, with every controller at work: what it costs, and that the same seed
 * gives the same day. Each ten minutes a Deployment is rolled out and twenty pods are lost. Nodes send no heartbeats: their leases alone
 * would be four million writes.
 */
import { createHash } from 'node:crypto'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
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

const deploymentCount = Number(process.env['BENCH_DEPLOYMENTS'] ?? 1000)
const nodeCount = Math.ceil(deploymentCount / 2)
const replicas = 10
const namespace = 'default'
const lostPods = 20
const hours = Number(process.env['BENCH_HOURS'] ?? 24)

export default async function (bench: Bench): Promise<void> {
  const what = `${hours} h of ${deploymentCount} deployments of ${replicas} on ${nodeCount} nodes`
  const first = await day(1)
  bench.report({ case: `${what}: processor time until all pods run`, figure: first.startSeconds, unit: 's' })
  const limit = { comparedWith: 'limit 60 s', ratio: first.daySeconds / 60 }
  bench.report({ case: `${what}: processor time of the rest`, figure: first.daySeconds, unit: 's', ...limit })
  bench.report({ case: `${what}: changes of pods and deployments`, figure: first.changes, unit: '' })
  const again = await day(1)
  bench.report({ case: `${what}: the same changes for the same seed`, figure: Number(first.trace === again.trace), unit: 'yes is 1' })
}

async function day(seed: number) {
  const clock = new VirtualClock()
  const random = seededRandom(seed)
  const settled = async <T>(promise: Promise<T>): Promise<T> => {
    let isSettled = false
    const note = () => {
      isSettled = true
    }
    promise.then(note, note)
    while (!isSettled) await clock.advance(100)
    return promise
  }
  const server = await fakeApiServer(clock, random)
  const connection = new TrustedConnection({ name: 'admin', groups: ['system:masters'], extra: {} })
  const client = new Client({ transport: inProcessTransport(inProcess(server.server.handler.handle, connection)), userAgent: 'bench' })
  const nodes = new FakeNodes(client, clock, random, { nodeCount })
  await settled(nodes.start())
  const manager = new ControllerManager({
    ...{ client, clock, random, logger: silentLogger, settings: defaultSettings },
    controllers: selectControllers(controllers, ['*', '-nodelifecycle']),
  })
  await settled(manager.start())
  const trace = createHash('sha256')
  let changes = 0
  const available = new Set<string>()
  const pods = new Informer({ client, clock, random, kind: Pod, logger: silentLogger })
  const watched = [pods, new Informer({ client, clock, random, kind: Deployment, logger: silentLogger })]
  for (const informer of watched) {
    const note = (how: string) => (object: { metadata?: { name?: string; resourceVersion?: string } }) => {
      changes++
      trace.update(`${how} ${object.metadata?.name} ${object.metadata?.resourceVersion} ${clock.now()}\n`)
      const { status } = object as { status?: { availableReplicas?: number } }
      if (status?.availableReplicas === replicas) available.add(object.metadata?.name ?? '')
    }
    informer.addHandler({ onAdd: note('add'), onUpdate: note('update'), onDelete: note('delete') })
    informer.start()
    await settled(informer.synced)
  }
  const before = process.cpuUsage()
  await settled(Promise.all(Array.from({ length: deploymentCount }, (_, index) => client.create(Deployment, aDeployment(`web-${index}`)))))
  while (available.size < deploymentCount) await clock.advance(1000)
  const started = process.cpuUsage(before)
  const startOfDay = process.cpuUsage()
  for (let round = 0; round < hours * 6; round++) {
    const name = `web-${random.int(deploymentCount)}`
    const image = `registry.example.com/app:${round + 2}`
    const template = { spec: { containers: [{ name: 'main', image }] } }
    await settled(client.patch(Deployment, { namespace, name }, { spec: { template } }))
    const all = pods.list(namespace)
    const lost = new Set(Array.from({ length: lostPods }, () => all[random.int(all.length)]?.metadata.name ?? ''))
    await settled(Promise.all([...lost].map((each) => client.delete(Pod, { namespace, name: each }))))
    await clock.advance({ minutes: 10 })
  }
  const spent = process.cpuUsage(startOfDay)
  for (const informer of watched) informer.stop()
  nodes.stop()
  await settled(manager.stop())
  await server.stop()
  const seconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1e6
  return { startSeconds: seconds(started), daySeconds: seconds(spent), changes, trace: trace.digest('hex') }
}

function aDeployment(name: string) {
  const labels = { app: name }
  const spec = { containers: [{ name: 'main', image: 'registry.example.com/app:1' }] }
  return { metadata: { namespace, name }, spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } } }
}
