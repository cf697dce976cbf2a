/** The cluster that users start in their own tests, in time that passes only when they say so. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CronJob, Deployment, Job, Node, openClient, Pod, seededRandom, startCluster, VirtualClock } from '#index.ts'

const template = (app: string, restartPolicy = 'Always', annotations = {}) => ({
  metadata: { labels: { app }, annotations },
  spec: { restartPolicy, containers: [{ name: 'main', image: 'app:1' }] },
})

test('a whole cluster lives an hour in a moment', { timeout: 240_000 }, async () => {
  const clock = new VirtualClock()
  const cluster = await startCluster({ clock, random: seededRandom(1), simNodes: 3 })
  try {
    const { client } = cluster
    assert.equal((await client.list(Node)).items.length, 3)
    await client.create(Deployment, {
      metadata: { namespace: 'default', name: 'web' },
      spec: { replicas: 6, selector: { matchLabels: { app: 'web' } }, template: template('web') },
    })
    const jobTemplate = { spec: { template: template('tick', 'Never', { 'sim.typernetes.dev/exit-after': '5s' }) } }
    await client.create(CronJob, { metadata: { namespace: 'default', name: 'tick' }, spec: { schedule: '*/10 * * * *', jobTemplate } })
    // However long the start took: now it is five past, and no job runs.
    await clock.advance({ hours: 1, minutes: 15, ms: -(clock.now() % 600_000) })
    assert.equal((await client.get(Deployment, 'default', 'web')).status?.availableReplicas, 6)
    const jobs = (await client.list(Job, { namespace: 'default' })).items
    assert.equal(jobs.length, 3)
    assert.ok(jobs.every(({ status }) => status?.succeeded === 1))
    const nodes = new Set(
      (await client.list(Pod, { namespace: 'default', labelSelector: 'app=web' })).items.map(({ spec }) => spec.nodeName),
    )
    assert.equal(nodes.size, 3)
  } finally {
    await cluster.stop()
  }
})

test('programs outside reach it by its kubeconfig, as whoever they are', { timeout: 240_000 }, async () => {
  const cluster = await startCluster({ simNodes: 0 })
  try {
    using outside = await openClient({ kubeconfig: cluster.kubeconfig })
    assert.equal((await outside.list(Node)).items.length, 0)
    await assert.rejects(cluster.clientAs('somebody').list(Node), /nodes is forbidden: User "somebody" cannot list resource "nodes"/)
  } finally {
    await cluster.stop()
  }
})
