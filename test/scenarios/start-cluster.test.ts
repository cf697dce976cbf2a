/** The cluster that users start in their own tests, in time that passes only when they say so. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CronJob, Deployment, Job, Node, openClient, Pod, seededRandom, startCluster, VirtualClock } from '#index.ts'

/** Lets virtual time pass until the promise is settled; files and sockets take time of the other kind. */
async function inTime<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const note = () => {
    isSettled = true
  }
  promise.then(note, note)
  while (!isSettled) {
    await clock.advance(10)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return promise
}

const template = (app: string, restartPolicy = 'Always', annotations = {}) => ({
  metadata: { labels: { app }, annotations },
  spec: { restartPolicy, containers: [{ name: 'main', image: 'app:1' }] },
})

test('a whole cluster lives an hour in a moment', { timeout: 60_000 }, async () => {
  const clock = new VirtualClock()
  const cluster = await inTime(clock, startCluster({ clock, random: seededRandom(1), simNodes: 3 }))
  try {
    const { client } = cluster
    assert.equal((await client.list(Node)).items.length, 3)
    await client.create(Deployment, {
      metadata: { namespace: 'default', name: 'web' },
      spec: { replicas: 6, selector: { matchLabels: { app: 'web' } }, template: template('web') },
    })
    const jobTemplate = { spec: { template: template('tick', 'Never', { 'sim.typernetes.dev/exit-after': '5s' }) } }
    await client.create(CronJob, { metadata: { namespace: 'default', name: 'tick' }, spec: { schedule: '*/10 * * * *', jobTemplate } })
    await clock.advance({ hours: 1, minutes: 5 })
    assert.equal((await client.get(Deployment, 'default', 'web')).status?.availableReplicas, 6)
    const jobs = (await client.list(Job, { namespace: 'default' })).items
    assert.equal(jobs.length, 3)
    assert.ok(jobs.every(({ status }) => status?.succeeded === 1))
    const nodes = new Set(
      (await client.list(Pod, { namespace: 'default', labelSelector: 'app=web' })).items.map(({ spec }) => spec.nodeName),
    )
    assert.equal(nodes.size, 3)
  } finally {
    await inTime(clock, cluster.stop())
  }
})

test('programs outside reach it by its kubeconfig, as whoever they are', { timeout: 60_000 }, async () => {
  const cluster = await startCluster({ simNodes: 0 })
  try {
    using outside = await openClient({ kubeconfig: cluster.kubeconfig })
    assert.equal((await outside.list(Node)).items.length, 0)
    await assert.rejects(cluster.clientAs('somebody').list(Node), /nodes is forbidden: User "somebody" cannot list resource "nodes"/)
  } finally {
    await cluster.stop()
  }
})
