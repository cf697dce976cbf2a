/** The sample controller on a whole cluster, in virtual time. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  type Client,
  Deployment,
  Event,
  isInvalid,
  isNotFound,
  runOperator,
  type StartedCluster,
  seededRandom,
  startCluster,
  VirtualClock,
} from '#index.ts'
import { Foo } from './foo.ts'
import { fooController } from './foo-controller.ts'

const clock = new VirtualClock()
const stop = new AbortController()
let cluster: StartedCluster
let client: Client
let running: Promise<void>

before(async () => {
  cluster = await clock.during(startCluster({ clock, random: seededRandom(1), simNodes: 2 }))
  client = cluster.client
  const ready = Promise.withResolvers<void>()
  const seams = { clock, random: seededRandom(2), signal: stop.signal, onReady: ready.resolve }
  running = runOperator({ name: 'sample-controller', client, resources: [Foo], controllers: [fooController], ...seams })
  await clock.during(Promise.race([ready.promise, running]))
})
after(async () => {
  stop.abort()
  await clock.during(Promise.allSettled([running]))
  await clock.during(cluster.stop())
})

const available = async (name: string) => (await client.get(Foo, 'default', name)).status?.availableReplicas

test('a Foo gets its Deployment, and tells how much of it is available', async () => {
  await client.create(Foo, Foo.make({ metadata: { namespace: 'default', name: 'example' }, spec: { deploymentName: 'web', replicas: 3 } }))
  await clock.advanceUntil(async () => (await available('example')) === 3)
  const { metadata, spec } = await client.get(Deployment, 'default', 'web')
  assert.deepEqual([spec.replicas, metadata.ownerReferences?.[0]?.kind, metadata.ownerReferences?.[0]?.name], [3, 'Foo', 'example'])
  const { items } = await client.list(Event, { namespace: 'default', fieldSelector: 'involvedObject.name=example' })
  assert.ok(items.some(({ reason, message }) => reason === 'Synced' && message === 'Foo synced successfully'))
})

test('it is scaled with its Foo, and back when somebody else scales it', async () => {
  await client.patch(Foo, { namespace: 'default', name: 'example' }, { spec: { replicas: 2 } }, { type: 'merge' })
  await clock.advanceUntil(async () => (await available('example')) === 2)
  await client.patch(Deployment, { namespace: 'default', name: 'web' }, { spec: { replicas: 7 } })
  await clock.advance({ seconds: 30 })
  assert.equal((await client.get(Deployment, 'default', 'web')).spec.replicas, 2)
})

test('a Deployment that comes from somebody else is left alone, and an event says so', async () => {
  const labels = { app: 'other' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'app:1' }] } }
  await client.create(Deployment, {
    metadata: { namespace: 'default', name: 'taken' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  })
  await client.create(Foo, Foo.make({ metadata: { namespace: 'default', name: 'late' }, spec: { deploymentName: 'taken' } }))
  await clock.advance({ seconds: 10 })
  const { items } = await client.list(Event, { namespace: 'default', fieldSelector: 'involvedObject.name=late' })
  assert.deepEqual(
    items.map(({ type, reason, message }) => [type, reason, message]),
    [['Warning', 'ErrResourceExists', 'Deployment "taken" already exists and is not managed by Foo "late"']],
  )
  assert.equal((await client.get(Deployment, 'default', 'taken')).metadata.ownerReferences, undefined)
  // Once it is gone the name is free, and the Foo gets what it asked for without being touched.
  await client.delete(Deployment, { namespace: 'default', name: 'taken' })
  await clock.advanceUntil(async () => (await available('late')) === 1)
})

test('a Foo that its schema does not allow is refused', async () => {
  const foo = Foo.make({ metadata: { namespace: 'default', name: 'wrong' }, spec: { deploymentName: 'x', replicas: 11 } })
  await assert.rejects(client.create(Foo, foo), (error) => {
    assert.ok(isInvalid(error))
    assert.match(String(error), /spec\.replicas in body should be less than or equal to 10/)
    return true
  })
})

test('with the Foo goes the Deployment', async () => {
  await client.delete(Foo, { namespace: 'default', name: 'example' })
  await clock.advanceUntil(() =>
    client.get(Deployment, 'default', 'web').then(
      () => false,
      (error: unknown) => isNotFound(error),
    ),
  )
})

test('docs/writing-an-operator.md shows this very code', () => {
  const root = join(import.meta.dirname, '..', '..')
  const shown = readFileSync(join(root, 'docs', 'writing-an-operator.md'), 'utf8')
  for (const file of ['foo.ts', 'foo-controller.ts', 'main.ts']) {
    const code = readFileSync(join(import.meta.dirname, file), 'utf8').replaceAll("'#index.ts'", "'typernetes'")
    assert.ok(shown.includes(code), `${file} is shown otherwise`)
  }
})
