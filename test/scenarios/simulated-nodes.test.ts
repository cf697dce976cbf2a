/** A whole cluster in one process and in virtual time: controllers, the scheduler, and nodes whose containers are simulated. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import type { V1Deployment } from '#api/apps/v1/types.gen.ts'
import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job } from '#api/batch/v1/types.gen.ts'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle } from '#base/lifecycle.ts'
import { silentLogger } from '#base/log.ts'
import { startSimulatedNodes } from '#cmd/up/nodes.ts'
import { startScheduler } from '#cmd/up/scheduler.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

async function aWholeCluster(nodeCount: number) {
  const stack = new AsyncDisposableStack()
  const cluster = stack.use(await FakeCluster.start({ withoutNodes: true, controllers: ['deployment', 'replicaset', 'job'] }))
  const { clock, random, server } = cluster
  const lifecycle = new Lifecycle({ clock, logger: silentLogger })
  const seams = { clock, random, files: nodeFiles, logger: silentLogger }
  const whileTimePasses = async <T>(work: Promise<T>): Promise<T> => {
    await clock.advance(2000)
    return clock.during(work)
  }
  stack.defer(() => whileTimePasses(lifecycle.stop()))
  await whileTimePasses(
    lifecycle.stage('nodes', (stage) => startSimulatedNodes(stage, server, { count: nodeCount, clearsNotReadyTaint: true }, seams)),
  )
  await whileTimePasses(lifecycle.stage('scheduler', (stage) => startScheduler(stage, server, seams)))
  return { cluster, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const labels = { app: 'web' }
const containers = [{ name: 'app', image: 'app:1' }]
const aDeployment = (replicas: number): V1Deployment => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
})

test('a deployment of ten on three simulated nodes becomes available, is rolled, and goes', async () => {
  await using parts = await aWholeCluster(3)
  const { cluster } = parts
  await cluster.create(Deployment, aDeployment(10))
  const available = async () => (await cluster.get(Deployment, 'default', 'web')).status?.availableReplicas === 10
  await cluster.until(available, 60_000)
  const pods = await cluster.list(Pod, 'default')
  assert.deepEqual([...new Set(pods.map(({ spec }) => spec.nodeName))].sort(), ['sim-node-1', 'sim-node-2', 'sim-node-3'])
  assert.equal(new Set(pods.map(({ status }) => status?.podIP)).size, 10, 'every pod has an address of its own')

  await cluster.change(Deployment, 'default', 'web', ({ spec }) => {
    for (const container of spec.template.spec?.containers ?? []) container.image = 'app:2'
  })
  const isRolled = async () => {
    const { status, metadata } = await cluster.get(Deployment, 'default', 'web')
    const { updatedReplicas, availableReplicas, replicas, observedGeneration } = status ?? {}
    return observedGeneration === metadata.generation && updatedReplicas === 10 && availableReplicas === 10 && replicas === 10
  }
  await cluster.until(isRolled, 300_000)
  await cluster.advance({ seconds: 5 })
  const images = (await cluster.list(Pod, 'default')).map(({ spec }) => spec.containers[0]?.image)
  assert.deepEqual(
    images,
    Array.from({ length: 10 }, () => 'app:2'),
  )

  await cluster.change(Deployment, 'default', 'web', ({ spec }) => {
    spec.replicas = 0
  })
  await cluster.until(async () => (await cluster.list(Pod, 'default')).length === 0, 60_000)
})

test('a job of six pods, three at a time, completes', async () => {
  await using parts = await aWholeCluster(2)
  const { cluster } = parts
  const template = { spec: { restartPolicy: 'Never', containers } }
  const job: V1Job = { metadata: { name: 'work', namespace: 'default' }, spec: { completions: 6, parallelism: 3, template } }
  await cluster.create(Job, job)
  await cluster.until(async () => (await cluster.get(Job, 'default', 'work')).status?.succeeded === 6, 120_000)
  await cluster.until(
    async () => (await cluster.get(Job, 'default', 'work')).status?.conditions?.some(({ type }) => type === 'Complete') ?? false,
    60_000,
  )
})

test('a pod that fits nowhere waits, and the nodes stay as they are', async () => {
  await using parts = await aWholeCluster(1)
  const { cluster } = parts
  await cluster.create(Pod, {
    metadata: { name: 'huge', namespace: 'default' },
    spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '1000' } } }] },
  })
  await cluster.advance({ seconds: 30 })
  assert.equal((await cluster.get(Pod, 'default', 'huge')).spec.nodeName, undefined)
  const taints = (await cluster.list(Node)).flatMap(({ spec }) => spec?.taints ?? [])
  assert.deepEqual(taints, [])
})
