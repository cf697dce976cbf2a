import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { faultyTransport } from '#testing/faulty-transport.ts'

for (const prefersWatchList of [true, false]) {
  test(`an informer ends with what the server has, however often its watch breaks (${prefersWatchList ? 'watch list' : 'list and watch'})`, async () => {
    for (const seed of [1, 2, 3]) {
      await using cluster = await FakeCluster.start({ withoutNodes: true, seed })
      const random = seededRandom(seed)
      const rates = { fails: 0.3, losesAnswer: 0, repeats: 0, delays: 0.3, cutsWatch: 0.1 }
      const road = faultyTransport(cluster.transportAs('admin', ['system:masters']), { clock: cluster.clock, random }, rates)
      const client = new Client({ transport: road, userAgent: 'test' })
      const log: LogRecord[] = []
      const informer = new Informer({
        client,
        kind: ConfigMap,
        namespace: 'default',
        clock: cluster.clock,
        random,
        logger: recordingLogger(log),
        prefersWatchList,
      })
      informer.addIndex('owner', ({ data }) => [data?.['owner'] ?? ''])
      const notified = new Map<string, string>()
      informer.addHandler({
        onAdd: ({ metadata }) => {
          assert.ok(!notified.has(metadata.name ?? ''), `seed ${seed}: ${metadata.name} was added twice`)
          notified.set(metadata.name ?? '', metadata.resourceVersion ?? '')
        },
        onUpdate: ({ metadata }) => void notified.set(metadata.name ?? '', metadata.resourceVersion ?? ''),
        onDelete: ({ metadata }) => void notified.delete(metadata.name ?? ''),
      })
      informer.start()
      for (let step = 0; step < 60; step++) {
        const name = `map-${random.int(10)}`
        const data = { owner: `o${random.int(3)}` }
        const known = await cluster.find(ConfigMap, 'default', name)
        if (known === undefined) await cluster.create(ConfigMap, { metadata: { namespace: 'default', name }, data })
        else if (random.int(3) === 0) await cluster.client.delete(ConfigMap, known.metadata)
        else await cluster.client.update(ConfigMap, { ...known, data })
        await cluster.advance(random.int(2000))
      }
      await cluster.advance({ minutes: 15 })
      const truth = await cluster.list(ConfigMap, 'default')
      const versions = Object.fromEntries(truth.map(({ metadata }) => [metadata.name, metadata.resourceVersion]))
      assert.deepEqual(Object.fromEntries([...notified].sort()), versions, `seed ${seed}`)
      assert.deepEqual(
        log.filter(({ level }) => level === 'error'),
        [],
      )
      assert.deepEqual(
        informer
          .byIndex('owner', 'o1')
          .map(({ metadata }) => metadata.name)
          .sort(),
        truth.filter(({ data }) => data?.['owner'] === 'o1').map(({ metadata }) => metadata.name),
      )
      informer.stop()
    }
  })
}

test('an object that a handler or an index cannot cope with is logged by name, and all others are told of', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  for (const name of ['a', 'bad', 'c']) await cluster.create(ConfigMap, { metadata: { namespace: 'default', name } })
  const log: LogRecord[] = []
  const { client, clock } = cluster
  const informer = new Informer({
    ...{ client, clock, kind: ConfigMap, namespace: 'default', random: seededRandom(1), logger: recordingLogger(log) },
  })
  const seen: string[] = []
  const fragile =
    (what: string) =>
    ({ metadata }: { metadata: { name?: string } }) => {
      if (metadata.name === 'bad') throw new Error('cannot cope')
      seen.push(`${what} ${metadata.name}`)
    }
  informer.addIndex('fragile', ({ metadata }) => {
    if (metadata.name === 'bad') throw new Error('has no value')
    return ['all']
  })
  informer.addHandler({ onAdd: fragile('add'), onUpdate: fragile('update'), onDelete: fragile('delete') })
  const other: string[] = []
  informer.addHandler({ onAdd: ({ metadata }) => void other.push(metadata.name ?? '') })
  informer.start()
  await cluster.clock.during(informer.synced)
  await cluster.client.update(ConfigMap, { metadata: { namespace: 'default', name: 'bad' }, data: { a: 'b' } })
  await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'bad' })
  await cluster.client.update(ConfigMap, { metadata: { namespace: 'default', name: 'a' }, data: { a: 'b' } })
  await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'c' })
  await cluster.advance({ seconds: 5 })
  const wanted = (name: string | undefined) => ['a', 'c'].includes(name ?? '')
  const told = seen.filter((each) => wanted(each.split(' ')[1]))
  assert.deepEqual(told, ['add a', 'add c', 'update a', 'delete c'])
  assert.ok(other.includes('bad'))
  assert.deepEqual(
    informer
      .byIndex('fragile', 'all')
      .map(({ metadata }) => metadata.name)
      .filter(wanted),
    ['a'],
  )
  const failures = log.filter(({ level }) => level === 'error')
  assert.ok(failures.length >= 3)
  for (const { fields } of failures) assert.deepEqual([fields['kind'], fields['object']], ['ConfigMap', 'default/bad'])
  informer.stop()
})
