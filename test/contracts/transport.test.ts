/** The roads to an API server: without a socket, and over TLS. A client cannot tell one from the other. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type Client,
  ConfigMap,
  Informer,
  isConflict,
  isNotFound,
  type OpenedClient,
  openClient,
  retryOnConflict,
  ServedKinds,
  type StartedCluster,
  seededRandom,
  silentLogger,
  startCluster,
  systemClock,
  waitFor,
} from '#index.ts'

let cluster: StartedCluster | undefined
let outside: OpenedClient | undefined
before(async () => {
  cluster = await startCluster({ simNodes: 0, controllers: [], scheduler: false })
  outside = await openClient({ kubeconfig: cluster.kubeconfig })
})
after(async () => {
  outside?.[Symbol.dispose]()
  await cluster?.stop()
})

for (const [road, client] of [
  ['in process', () => cluster?.client],
  ['over TLS', () => outside],
] as const) {
  describe(road, () => {
    const of = (): Client => client() ?? assert.fail('there is no cluster')
    const place = (name: string) => ({ namespace: 'default', name: `${road.replace(' ', '-').toLowerCase()}-${name}` })

    test('an object is made, read, changed in every way, and deleted', async () => {
      const { namespace, name } = place('map')
      const made = await of().create(ConfigMap, { metadata: { namespace, name }, data: { text: 'größer 🦆' } })
      assert.deepEqual((await of().get(ConfigMap, namespace, name)).data, { text: 'größer 🦆' })
      await of().update(ConfigMap, { ...made, data: { a: '1' } })
      await assert.rejects(of().update(ConfigMap, { ...made, data: { a: '2' } }), isConflict)
      await of().patch(ConfigMap, { namespace, name }, { data: { b: '2' } })
      await of().patch(ConfigMap, { namespace, name }, [{ op: 'remove', path: '/data/a' }], { type: 'json' })
      const applied = await of().apply(ConfigMap, { metadata: { namespace, name }, data: { c: '3' } }, { fieldManager: 'me' })
      assert.deepEqual(applied.data, { b: '2', c: '3' })
      await of().delete(ConfigMap, { namespace, name }, { uid: made.metadata.uid ?? '' })
      await assert.rejects(of().get(ConfigMap, namespace, name), isNotFound)
    })

    test('writers that meet lose nothing', async () => {
      const { namespace, name } = place('counter')
      await of().create(ConfigMap, { metadata: { namespace, name }, data: { count: '0' } })
      const increment = async () => {
        const map = await of().get(ConfigMap, namespace, name)
        await of().update(ConfigMap, { ...map, data: { count: String(Number(map.data?.['count']) + 1) } })
      }
      await Promise.all(Array.from({ length: 8 }, () => retryOnConflict(systemClock, increment, { attempts: 100 })))
      assert.equal((await of().get(ConfigMap, namespace, name)).data?.['count'], '8')
    })

    test('pages make up the list', async () => {
      const label = place('page').name
      for (let index = 0; index < 7; index++) await of().create(ConfigMap, { metadata: { ...place(`page-${index}`), labels: { label } } })
      const { items } = await of().list(ConfigMap, { namespace: 'default', labelSelector: `label=${label}`, limit: 3 })
      assert.equal(new Set(items.map(({ metadata }) => metadata.name)).size, 7)
    })

    test('an informer follows, and lets go at once', async () => {
      const seen: string[] = []
      const informer = new Informer({
        client: of(),
        kind: ConfigMap,
        namespace: 'default',
        clock: systemClock,
        random: seededRandom(1),
        logger: silentLogger,
      })
      informer.addHandler({ onAdd: ({ metadata }) => void seen.push(metadata.name ?? '') })
      informer.start()
      await informer.synced
      const { metadata } = await of().create(ConfigMap, { metadata: place('followed') })
      await informer.whenSeen(metadata.resourceVersion ?? '')
      assert.ok(seen.includes(metadata.name ?? ''))
      informer.stop()
    })

    test('a watch ends when its signal aborts', async () => {
      const abort = new AbortController()
      const events = of().watch(ConfigMap, { namespace: 'default', signal: abort.signal })
      await events.next()
      abort.abort()
      await assert.rejects(async () => {
        for (;;) if ((await events.next()).done) throw new Error('it ended')
      })
    })

    test('a kind known only at run time is used as any other', async () => {
      const kinds = new ServedKinds(of())
      await kinds.refresh()
      const kind = kinds.scheme.of({ apiVersion: 'v1', kind: 'ConfigMap' }) ?? assert.fail()
      const { namespace, name } = place('dynamic')
      await of().create(kind, { metadata: { namespace, name } })
      const found = await waitFor(of(), kind, { namespace, name }, (object) => object !== undefined, { clock: systemClock })
      assert.equal(found?.metadata?.name, name)
    })
  })
}
