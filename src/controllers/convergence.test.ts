/** The same end, whatever goes wrong on the way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { CronJob, Job } from '#api/batch/v1/kinds.gen.ts'
import { ConfigMap, Namespace, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { calm, type FaultRates, faultyTransport } from '#testing/faulty-transport.ts'

const seeds = [1, 2, 3, 4, 5, 6]
const namespace = 'storm'

const template = (app: string, restartPolicy = 'Always') => ({
  metadata: { labels: { app } },
  spec: { restartPolicy, containers: [{ name: 'main', image: 'a:1' }] },
})
const selector = (app: string) => ({ matchLabels: { app } })

for (const seed of seeds) {
  test(`seed ${seed}: requests fail, come twice, come late, watches break, controllers restart: all is as if nothing had been`, async () => {
    const rates: FaultRates = { fails: 0.1, losesAnswer: 0.1, repeats: 0.05, delays: 0.2, cutsWatch: 0.05 }
    await using cluster = await FakeCluster.start({
      seed,
      controllers: [
        ...['deployment', 'replicaset', 'statefulset', 'daemonset', 'job', 'cronjob', 'endpointslice', 'endpoint', 'disruption'],
        ...['garbagecollector', 'namespace', 'serviceaccount'],
      ],
      fateOf: ({ metadata }) => (metadata.labels?.['app'] === 'work' ? 'succeeds' : 'runs'),
      through: (transport, parts) => faultyTransport(transport, parts, rates),
    })
    const place = (name: string) => ({ namespace, name })
    await cluster.create(Namespace, { metadata: { name: namespace }, spec: {} })
    await cluster.create(Deployment, {
      metadata: place('web'),
      spec: { replicas: 5, selector: selector('web'), template: template('web') },
    })
    await cluster.create(StatefulSet, {
      metadata: place('db'),
      spec: { replicas: 3, serviceName: 'db', selector: selector('db'), template: template('db') },
    })
    await cluster.create(Job, { metadata: place('work'), spec: { completions: 4, parallelism: 2, template: template('work', 'Never') } })
    await cluster.create(DaemonSet, { metadata: place('agent'), spec: { selector: selector('agent'), template: template('agent') } })
    const jobTemplate = { spec: { template: template('work', 'Never') } }
    await cluster.create(CronJob, { metadata: place('tick'), spec: { schedule: '*/1 * * * *', concurrencyPolicy: 'Forbid', jobTemplate } })
    await cluster.create(PodDisruptionBudget, { metadata: place('web'), spec: { minAvailable: 4, selector: selector('web') } })
    await cluster.create(Service, { metadata: place('web'), spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
    await cluster.advance({ seconds: 10 + seed })
    await cluster.change(
      Deployment,
      namespace,
      'web',
      ({ spec }) => void Object.assign(spec?.template.spec?.containers[0] ?? {}, { image: 'a:2' }),
    )
    await cluster.advance({ seconds: 3 })
    await cluster.stopControllers()
    await cluster.advance({ seconds: 5 })
    await cluster.startControllers()
    await cluster.advance({ seconds: 20 })
    // The storm passes; what it left behind must be put right.
    Object.assign(rates, calm)
    await cluster.advance({ minutes: 20 })
    // Amid a minute nothing of the schedule is on its way.
    await cluster.advance(90_000 - (cluster.clock.now() % 60_000))

    const pods = await cluster.list(Pod, namespace)
    const of = (app: string) => pods.filter(({ metadata }) => metadata.labels?.['app'] === app)
    assert.equal(of('web').length, 5, `seed ${seed}: pods of the deployment`)
    assert.ok(of('web').every(({ spec }) => spec.containers[0]?.image === 'a:2'))
    assert.deepEqual((await cluster.list(ReplicaSet, namespace)).map(({ spec }) => spec?.replicas).sort(), [0, 5])
    assert.deepEqual(
      of('db').map(({ metadata }) => metadata.name),
      ['db-0', 'db-1', 'db-2'],
    )
    assert.deepEqual(
      new Set(of('agent').map(({ spec }) => spec.nodeName)),
      new Set(cluster.nodes.names()),
      `seed ${seed}: a daemon on every node`,
    )
    assert.equal(of('agent').length, 3, `seed ${seed}: and one only`)
    assert.equal((await cluster.get(PodDisruptionBudget, namespace, 'web')).status?.disruptionsAllowed, 1)
    const ticks = (await cluster.list(Job, namespace)).filter(({ metadata }) => metadata.name?.startsWith('tick-'))
    assert.equal(ticks.length, 3, `seed ${seed}: as many jobs as are kept`)
    assert.deepEqual((await cluster.get(CronJob, namespace, 'tick')).status?.active ?? [], [])
    const job = await cluster.get(Job, namespace, 'work')
    assert.ok(
      job.status?.conditions?.some(({ type }) => type === 'Complete'),
      `seed ${seed}: ${JSON.stringify(job.status)}`,
    )
    // A creation that came twice may have made one pod more than was asked for; none is lost and none is counted twice.
    const finished = of('work').filter(
      ({ status, metadata }) => status?.phase === 'Succeeded' && metadata.labels?.['job-name'] === 'work',
    ).length
    assert.ok(
      (job.status?.succeeded ?? 0) >= 4 && (job.status?.succeeded ?? 0) <= finished,
      `seed ${seed}: ${job.status?.succeeded} of ${finished}`,
    )
    const stuck = pods.filter(({ metadata }) => metadata.finalizers?.length || metadata.deletionTimestamp)
    assert.deepEqual(
      stuck.map(({ metadata, status }) => ({ ...metadata, managedFields: [], phase: status?.phase })),
      [],
      `seed ${seed}: pods that do not end`,
    )
    const slices = await cluster.list(EndpointSlice, namespace)
    const addresses = slices.flatMap(({ endpoints }) => endpoints ?? []).flatMap((endpoint) => endpoint.addresses)
    assert.deepEqual(
      addresses.sort(),
      of('web')
        .map(({ status }) => status?.podIP)
        .sort(),
      `seed ${seed}: endpoints`,
    )

    await cluster.create(ConfigMap, { metadata: place('last') })
    await cluster.client.delete(Namespace, { name: namespace })
    await cluster.advance({ minutes: 5 })
    assert.equal(await cluster.find(Namespace, '', namespace), undefined, `seed ${seed}: the namespace`)
    assert.deepEqual(await cluster.list(Pod, namespace), [])
  })
}
