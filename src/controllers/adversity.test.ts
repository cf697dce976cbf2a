/** Others write at the same time, and much happens at once: the end is the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { CronJob, Job } from '#api/batch/v1/kinds.gen.ts'
import { ConfigMap, Endpoints, Namespace, Pod, ResourceQuota, Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { meddlingTransport } from '#testing/meddling-transport.ts'

const namespace = 'crowded'
const place = (name: string) => ({ namespace, name })
const selector = (app: string) => ({ matchLabels: { app } })
const template = (app: string, restartPolicy = 'Always') => ({
  metadata: { labels: { app } },
  spec: { restartPolicy, containers: [{ name: 'main', image: 'a:1' }] },
})

test('a conflicting write at every step: everything comes out as if nobody else had written', async () => {
  const count = { conflicts: 0 }
  let meddler: FakeCluster | undefined
  await using cluster = await FakeCluster.start({
    controllers: ['*', '-nodelifecycle', '-serviceaccount-token', '-root-ca-cert-publisher'],
    fateOf: ({ metadata }) => (metadata.labels?.['app'] === 'work' ? 'succeeds' : 'runs'),
    through: (transport) =>
      meddlingTransport(
        transport,
        { send: (request) => (meddler ?? assert.fail()).transportAs('admin', ['system:masters']).send(request) },
        count,
      ),
  })
  meddler = cluster
  await cluster.create(Namespace, { metadata: { name: namespace }, spec: {} })
  await cluster.create(Deployment, { metadata: place('web'), spec: { replicas: 4, selector: selector('web'), template: template('web') } })
  await cluster.create(StatefulSet, {
    metadata: place('db'),
    spec: { replicas: 3, serviceName: 'db', selector: selector('db'), template: template('db') },
  })
  await cluster.create(DaemonSet, { metadata: place('agent'), spec: { selector: selector('agent'), template: template('agent') } })
  await cluster.create(Job, { metadata: place('work'), spec: { completions: 5, parallelism: 2, template: template('work', 'Never') } })
  const jobTemplate = { spec: { template: template('work', 'Never') } }
  await cluster.create(CronJob, { metadata: place('tick'), spec: { schedule: '*/2 * * * *', successfulJobsHistoryLimit: 2, jobTemplate } })
  await cluster.create(Service, { metadata: place('web'), spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
  await cluster.create(PodDisruptionBudget, { metadata: place('web'), spec: { minAvailable: 3, selector: selector('web') } })
  await cluster.create(ResourceQuota, { metadata: place('limit'), spec: { hard: { pods: '100' } } })
  await cluster.advance({ minutes: 1 })
  for (const [kind, name] of [
    [Deployment, 'web'],
    [StatefulSet, 'db'],
    [DaemonSet, 'agent'],
  ] as const)
    await cluster.client.patch(kind as typeof Deployment, place(name), {
      spec: { template: { spec: { containers: [{ name: 'main', image: 'a:2' }] } } },
    })
  await cluster.advance({ minutes: 9 })

  assert.ok(count.conflicts > 30, `only ${count.conflicts} writes met a conflict`)
  const pods = await cluster.list(Pod, namespace)
  const images = (app: string) =>
    pods.filter(({ metadata }) => metadata.labels?.['app'] === app).map(({ spec }) => spec.containers[0]?.image)
  assert.deepEqual(images('web'), Array(4).fill('a:2'))
  assert.deepEqual(images('db'), Array(3).fill('a:2'))
  assert.deepEqual(images('agent'), Array(3).fill('a:2'))
  const deployment = await cluster.get(Deployment, namespace, 'web')
  assert.equal(deployment.status?.availableReplicas, 4)
  assert.equal(deployment.status?.observedGeneration, deployment.metadata.generation)
  assert.deepEqual((await cluster.list(ReplicaSet, namespace)).map(({ spec }) => spec?.replicas).sort(), [0, 4])
  const job = await cluster.get(Job, namespace, 'work')
  assert.equal(job.status?.succeeded, 5)
  assert.ok(job.status?.conditions?.some(({ type }) => type === 'Complete'))
  assert.equal((await cluster.list(Job, namespace)).filter(({ metadata }) => metadata.name?.startsWith('tick-')).length, 2)
  assert.ok(pods.every(({ metadata }) => !metadata.finalizers?.length))
  assert.equal((await cluster.get(PodDisruptionBudget, namespace, 'web')).status?.disruptionsAllowed, 1)
  const addresses = (await cluster.list(EndpointSlice, namespace)).flatMap(({ endpoints }) => endpoints ?? [])
  assert.equal(addresses.length, 4)
  assert.equal((await cluster.get(Endpoints, namespace, 'web')).subsets?.[0]?.addresses?.length, 4)
  const live = pods.filter(({ status }) => status?.phase === 'Running').length
  assert.equal((await cluster.get(ResourceQuota, namespace, 'limit')).status?.used?.['pods'], String(live))

  await cluster.client.delete(Namespace, { name: namespace })
  await cluster.advance({ minutes: 5 })
  assert.equal(await cluster.find(Namespace, '', namespace), undefined)
})

test('a storm of deletions: every pod of many sets, again and again; each is replaced, and none too often', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['deployment', 'replicaset', 'garbagecollector'], startMs: 100, endMs: 100 })
  for (let index = 0; index < 10; index++) {
    const app = `web-${index}`
    const spec = { replicas: 8, selector: selector(app), template: template(app) }
    await cluster.create(Deployment, { metadata: { namespace: 'default', name: app }, spec })
  }
  await cluster.advance({ seconds: 10 })
  let most = 0
  for (let round = 0; round < 3; round++) {
    await cluster.client.deleteCollection(Pod, { namespace: 'default' })
    for (let step = 0; step < 10; step++) {
      await cluster.advance(150)
      const live = (await cluster.list(Pod, 'default')).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      most = Math.max(most, live.length)
    }
  }
  await cluster.advance({ seconds: 30 })
  const pods = await cluster.list(Pod, 'default')
  assert.equal(pods.length, 80)
  assert.ok(pods.every(({ status }) => status?.phase === 'Running'))
  assert.equal(most, 80, 'pods that were not being deleted, at any moment')
  assert.equal((await cluster.list(ReplicaSet, 'default')).length, 10)
})

test('a storm of owners: hundreds that own each other in chains go with the first of each, and the others stay', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['garbagecollector'], withoutNodes: true })
  const chains = 40
  const length = 8
  for (let chain = 0; chain < chains; chain++) {
    let owner: { name: string; uid: string } | undefined
    for (let link = 0; link < length; link++) {
      const name = `chain-${chain}-${link}`
      const ownerReferences = owner === undefined ? [] : [{ apiVersion: 'v1', kind: 'ConfigMap', blockOwnerDeletion: true, ...owner }]
      const made = await cluster.create(ConfigMap, { metadata: { namespace: 'default', name, ownerReferences } })
      owner = { name, uid: made.metadata.uid ?? '' }
    }
  }
  await cluster.advance({ seconds: 5 })
  const policies = ['Background', 'Foreground', 'Orphan'] as const
  for (let chain = 0; chain < chains; chain++) {
    const policy = policies[chain % 4]
    // Every fourth is left alone.
    if (policy !== undefined)
      await cluster.client.delete(ConfigMap, { namespace: 'default', name: `chain-${chain}-0` }, { propagationPolicy: policy })
  }
  await cluster.advance({ minutes: 5 })
  const left = new Map<number, number>()
  for (const { metadata } of await cluster.list(ConfigMap, 'default')) {
    const chain = /^chain-(\d+)-/.exec(metadata.name ?? '')?.[1]
    if (chain !== undefined) left.set(Number(chain), (left.get(Number(chain)) ?? 0) + 1)
  }
  for (let chain = 0; chain < chains; chain++) {
    const expected = [0, 0, length - 1, length][chain % 4]
    assert.equal(left.get(chain) ?? 0, expected, `chain ${chain}`)
  }
})
