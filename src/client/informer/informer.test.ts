import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
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
      const informer = new Informer({
        client,
        kind: ConfigMap,
        namespace: 'default',
        clock: cluster.clock,
        random,
        logger: silentLogger,
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
