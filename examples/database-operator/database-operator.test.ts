/** The database operator on a cluster of simulated nodes: days pass, nodes fall silent, in virtual time. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type Client,
  EndpointSlice,
  Event,
  isNotFound,
  Job,
  Node,
  Pod,
  runOperator,
  type StartedCluster,
  seededRandom,
  startCluster,
  VirtualClock,
} from '#index.ts'
import { Database } from './database.ts'
import { databaseController } from './database-controller.ts'
import { isReady, roleLabel } from './members.ts'

const clock = new VirtualClock()
const stop = new AbortController()
let cluster: StartedCluster
let client: Client
let running: Promise<void>

before(async () => {
  cluster = await clock.during(startCluster({ clock, random: seededRandom(1), simNodes: 4 }))
  client = cluster.client
  const ready = Promise.withResolvers<void>()
  const seams = { clock, random: seededRandom(2), signal: stop.signal, onReady: ready.resolve }
  running = runOperator({ name: 'database-operator', client, resources: [Database], controllers: [databaseController], ...seams })
  await clock.during(Promise.race([ready.promise, running]))
})
after(async () => {
  stop.abort()
  await clock.during(Promise.allSettled([running]))
  await clock.during(cluster.stop())
})

const current = () => client.get(Database, 'default', 'orders')
const members = async () => (await client.list(Pod, { namespace: 'default', labelSelector: 'db.example.com/database=orders' })).items
const primaries = async () => (await members()).filter(({ metadata }) => metadata.labels?.[roleLabel] === 'primary')
/** Where the service leads. */
const served = async () =>
  (await client.list(EndpointSlice, { namespace: 'default', labelSelector: 'kubernetes.io/service-name=orders-primary' })).items
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready)
    .map(({ targetRef }) => targetRef?.name)

test('a database has its members on nodes of their own, and one of them is the primary', async () => {
  const spec = { members: 3, backup: { schedule: '*/10 * * * *', keep: 2 } }
  await client.create(Database, Database.make({ metadata: { namespace: 'default', name: 'orders' }, spec }))
  await clock.advanceUntil(async () => (await current()).status?.readyMembers === 3)
  assert.equal(new Set((await members()).map((pod) => pod.spec.nodeName)).size, 3)
  assert.deepEqual([(await current()).status?.primary, (await primaries()).length], ['orders-0', 1])
  await clock.advanceUntil(async () => (await served()).join() === 'orders-0')
})

test('a primary that is back in time keeps its role', async () => {
  const { uid } = (await client.get(Pod, 'default', 'orders-0')).metadata
  await client.delete(Pod, { namespace: 'default', name: 'orders-0' }, { gracePeriodSeconds: 0 })
  await clock.advanceUntil(async () => (await members()).every(isReady) && (await members()).length === 3)
  await clock.advanceUntil(async () => (await served()).join() === 'orders-0')
  assert.notEqual((await client.get(Pod, 'default', 'orders-0')).metadata.uid, uid)
  assert.deepEqual([(await current()).status?.primary, (await current()).status?.failovers], ['orders-0', 0])
})

test('a primary that stays away is replaced after the time the database gives it', async () => {
  await client.patch(Database, { namespace: 'default', name: 'orders' }, { spec: { failoverSeconds: 1 } }, { type: 'merge' })
  const was = (await current()).status?.primary ?? ''
  const failovers = (await current()).status?.failovers ?? 0
  // Its node takes nothing in any more, and neither do the others: the member cannot come back.
  const { items } = await client.list(Node)
  for (const { metadata } of items) await client.patch(Node, { name: metadata.name }, { spec: { unschedulable: true } })
  await client.delete(Pod, { namespace: 'default', name: was }, { gracePeriodSeconds: 0 })
  await clock.advanceUntil(async () => ((await current()).status?.failovers ?? 0) > failovers, 60_000)
  const { status } = await current()
  assert.notEqual(status?.primary, was)
  assert.equal(status?.readyMembers, 2)
  await clock.advanceUntil(async () => (await served()).join() === status?.primary)
  const events = (await client.list(Event, { namespace: 'default', fieldSelector: 'involvedObject.name=orders' })).items
  assert.ok(events.some(({ reason, message }) => reason === 'Failover' && message === `${status?.primary} takes over from ${was}`))
  // The old one comes back as a replica.
  for (const { metadata } of items) await client.patch(Node, { name: metadata.name }, { spec: { unschedulable: null } })
  await clock.advanceUntil(async () => (await current()).status?.readyMembers === 3)
  assert.equal((await client.get(Pod, 'default', was)).metadata.labels?.[roleLabel], 'replica')
  assert.ok((await members()).every(isReady))
})

test('backups are taken by the clock, and the last two are kept', async () => {
  // However long everything took until now: then it is five past, and no backup is under way.
  await clock.advance({ minutes: 55, ms: -(clock.now() % 600_000) })
  const { status } = await current()
  assert.equal(status?.backups?.length, 2)
  assert.match(status.lastBackup ?? '', /:[0-5]0:\d\dZ$/)
  const jobs = (await client.list(Job, { namespace: 'default' })).items.map(({ metadata }) => metadata.name)
  assert.deepEqual(jobs.sort(), [...status.backups].sort())
})

test('fewer members: the last ones go; a primary among them hands over first', async () => {
  await client.patch(Database, { namespace: 'default', name: 'orders' }, { spec: { members: 1 } }, { type: 'merge' })
  await clock.advanceUntil(async () => (await members()).length === 1 && (await current()).status?.primary === 'orders-0')
  await clock.advanceUntil(async () => (await served()).join() === 'orders-0')
})

test('a database that is deleted is backed up once more, and then all of it goes', async () => {
  await client.delete(Database, { namespace: 'default', name: 'orders' })
  await clock.advance({ seconds: 5 })
  assert.ok((await current()).metadata.deletionTimestamp)
  assert.equal((await members()).length, 1, 'it still runs')
  await clock.advanceUntil(() => current().then(() => false, isNotFound))
  assert.equal((await client.get(Job, 'default', 'orders-final-backup')).status?.succeeded, 1)
  await clock.advanceUntil(async () => (await members()).length === 0)
})
