import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import { eventEncoder } from '#apiserver/http/answers.ts'
import { selectionOf } from '#apiserver/http/selection.ts'
import { ServedResource } from '#apiserver/http/served-resource.ts'
import { type EventSink, WatchStream } from '#apiserver/http/watch-stream.ts'
import { WatchTurns } from '#apiserver/http/watch-turns.ts'
import type { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import { WatchCache, type WatchCacheOptions } from '#apiserver/watch-cache/watch-cache.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import type { Store, Watch, WatchRequest } from '#store/store.ts'

const prefix = '/registry/configmaps/'
const definition = builtInKinds.find(({ kind, version }) => kind === 'ConfigMap' && version === 'v1')
assert.ok(definition)
const resource = new ServedResource(definition, { definition } as ResourceRegistry)
const form = { media: 'json', as: 'object', metaVersion: 'v1', isPretty: false } as const

type Event = {
  type: string
  object: { metadata: { name: string; namespace: string; resourceVersion: string; annotations?: object }; code?: number }
}

/** A client that takes what it is sent only when told to, and keeps the state that the events make. */
class Client implements EventSink {
  readonly events: Event[] = []
  readonly state = new Map<string, string>()
  isStalled = false
  hasEnded = false
  #caughtUp: () => void = () => {}

  write(bytes: Uint8Array): void {
    assert.equal(this.hasEnded, false, 'nothing is written after the end')
    for (const line of Buffer.from(bytes).toString().trimEnd().split('\n')) this.#take(JSON.parse(line) as Event)
  }
  isBehind(): boolean {
    return this.isStalled
  }
  onCaughtUp(callback: () => void): void {
    this.#caughtUp = callback
  }
  end(): void {
    this.hasEnded = true
  }
  resume(): void {
    this.isStalled = false
    this.#caughtUp()
  }
  #take(event: Event): void {
    const last = this.events.findLast(({ type }) => type !== 'ERROR')
    this.events.push(event)
    if (event.type === 'ERROR' || event.type === 'BOOKMARK') return
    const { name, namespace, resourceVersion } = event.object.metadata
    const key = `${namespace}/${name}`
    assert.equal(this.state.has(key), event.type !== 'ADDED', `${event.type} of ${key} fits what was there before`)
    if (last && this.events.length > 1 && last.type !== 'ADDED') {
      assert.ok(Number(last.object.metadata.resourceVersion) < Number(resourceVersion), 'versions rise')
    }
    if (event.type === 'DELETED') this.state.delete(key)
    else this.state.set(key, resourceVersion)
  }
}

async function setUp(options: Partial<WatchCacheOptions> = {}, wrap = (store: MemoryStore): Store => store) {
  const clock = new VirtualClock()
  const memory = new MemoryStore({ clock })
  const store = wrap(memory)
  const cache = new WatchCache({ store, clock, prefix, isNamespaced: true, ...options })
  const put = (namespace: string, name: string, labels: Record<string, string> = {}) =>
    memory.txn({
      success: [
        {
          put: {
            key: `${prefix}${namespace}/${name}`,
            value: Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace, labels } })),
          },
        },
      ],
    })
  const remove = (namespace: string, name: string) => memory.txn({ success: [{ delete: { key: `${prefix}${namespace}/${name}` } }] })
  await cache.start()
  const turns = new WatchTurns(clock, { rests: true })
  const watch = (
    { namespace = '', labelSelector = '', fieldSelector = '' },
    more: Partial<ConstructorParameters<typeof WatchStream>[0]> = {},
  ) => {
    const client = new Client()
    const selection = selectionOf(resource.definition, namespace, { labelSelector, fieldSelector })
    const stream = new WatchStream({
      cache,
      selection,
      encoder: eventEncoder(resource, form, () => ({ nowMs: 0, include: 'None' })),
      sink: client,
      clock,
      turns,
      fromRevision: undefined,
      announcesInitialEvents: false,
      wantsBookmarks: false,
      timeoutMs: 3_600_000,
      ...more,
    })
    stream.start()
    const expected = () => {
      const found = cache.list('').filter((object) => selection.matches(object))
      return new Map(found.map(({ namespace, name, revision }) => [`${namespace}/${name}`, String(revision)]))
    }
    return { client, stream, expected }
  }
  return { clock, cache, put, remove, watch, memory }
}

const namespaces = ['a', 'b', 'c']
const wishes = [
  {},
  { namespace: 'a' },
  { labelSelector: 'tier=web' },
  { namespace: 'b', labelSelector: 'tier in (web,db)' },
  { fieldSelector: 'metadata.name=n3' },
  { namespace: 'a', fieldSelector: 'metadata.name=n3' },
  { fieldSelector: 'metadata.name!=n3' },
]

async function change({ put, remove }: Pick<Awaited<ReturnType<typeof setUp>>, 'put' | 'remove'>, random: Random): Promise<void> {
  const namespace = namespaces[random.int(3)] as string
  const name = `n${random.int(12)}`
  if (random.float() < 0.3) await remove(namespace, name)
  else await put(namespace, name, random.float() < 0.5 ? { tier: ['web', 'db'][random.int(2)] as string } : {})
}

test('whatever is watched, and however slowly, the events make the state, each fitting the one before', async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = seededRandom(seed)
    const cluster = await setUp()
    const clients = []
    for (let step = 0; step < 600; step++) {
      if (step % 40 === 0) clients.push(cluster.watch(wishes[random.int(wishes.length)] ?? {}))
      await change(cluster, random)
      for (const { client } of clients) {
        if (random.float() < 0.02) client.isStalled = true
        else if (client.isStalled && random.float() < 0.01) client.resume()
      }
      if (random.float() < 0.3) await cluster.clock.advance(1)
    }
    for (const { client } of clients) client.resume()
    await cluster.clock.advance(10)
    for (const { client, expected } of clients) assert.deepEqual(client.state, expected(), `seed ${seed}`)
    await cluster.memory.close()
  }
})

test('a client that stalls for longer than the window is told to start over, and nothing is kept for it', async () => {
  const { put, watch, clock, memory } = await setUp({ maxChanges: 300 })
  const { client } = watch({})
  const { client: other, expected } = watch({})
  client.isStalled = true
  for (let index = 0; index < 1000; index++) await put('a', `n${index % 10}`)
  await clock.advance(1)
  client.resume()
  await clock.advance(1)
  assert.equal(client.events.at(-1)?.object.code, 410)
  assert.equal(client.hasEnded, true)
  assert.deepEqual(other.state, expected())
  await memory.close()
})

test('a watch from a revision gets what came after it, one from the future nothing before it', async () => {
  const { put, watch, clock, cache, memory } = await setUp()
  await put('a', 'one')
  await put('a', 'two')
  const past = watch({}, { fromRevision: cache.revision - 1 })
  const future = watch({}, { fromRevision: cache.revision + 1 })
  await put('a', 'three')
  await put('a', 'four')
  await clock.advance(1)
  assert.deepEqual([...past.client.state.keys()], ['a/two', 'a/three', 'a/four'])
  assert.deepEqual([...future.client.state.keys()], ['a/four'])
  await memory.close()
})

test('bookmarks come each minute, after the initial state where asked for, and before the end', async () => {
  const { put, watch, clock, cache, memory } = await setUp()
  await put('a', 'one')
  const { client } = watch({ namespace: 'a' }, { announcesInitialEvents: true, wantsBookmarks: true, timeoutMs: 90_000 })
  const initial = client.events.map(({ type, object }) => [type, object.metadata.annotations !== undefined])
  assert.deepEqual(initial, [
    ['ADDED', false],
    ['BOOKMARK', true],
  ])
  await put('b', 'elsewhere')
  await clock.advance({ seconds: 61 })
  assert.deepEqual(
    [client.events.at(-1)?.type, client.events.at(-1)?.object.metadata.resourceVersion],
    ['BOOKMARK', String(cache.revision)],
  )
  await put('a', 'two')
  await clock.advance({ seconds: 30 })
  assert.deepEqual(
    client.events.slice(-2).map(({ type }) => type),
    ['ADDED', 'BOOKMARK'],
  )
  assert.equal(client.hasEnded, true)
  await memory.close()
})

test('where the store loses its feed, watches end, the cache reads everything again and tells parts of the process what changed', async () => {
  const feeds: WatchRequest[] = []
  const cluster = await setUp({}, (memory) => {
    const lossy = Object.create(memory, {
      watch: {
        value(request: WatchRequest): Watch {
          feeds.push(request)
          return memory.watch(request)
        },
      },
      range: { value: (request: Parameters<Store['range']>[0]) => memory.range(request) },
      revision: { get: () => memory.revision },
    })
    return lossy as Store
  })
  const { put, remove, watch, cache, clock, memory } = cluster
  for (const name of ['stays', 'goes', 'changes']) await put('a', name)
  const { client } = watch({})
  const seen: string[] = []
  using _watch = cache.watch(cache.revision, { onChange: ({ type, object }) => seen.push(`${type} ${object.name}`), onEnd() {} })
  const before = feeds[0]
  if (before) before.onEvents = () => {}
  await remove('a', 'goes')
  await put('a', 'changes')
  await put('a', 'comes')
  before?.onEnd?.(new Error('compacted'))
  assert.equal(client.hasEnded, true)
  await clock.advance(1)
  assert.deepEqual(seen.sort(), ['ADDED comes', 'DELETED goes', 'MODIFIED changes'])
  assert.equal(await cache.fresh(), memory.revision)
  const again = watch({})
  await put('a', 'later')
  await clock.advance(1)
  assert.deepEqual(again.client.state, again.expected())
  await memory.close()
})

test('a watch that comes upon what it cannot show is told so and ends, alone', async () => {
  const { put, watch, clock, memory } = await setUp()
  await put('a', 'sound')
  const failures: string[] = []
  const onFailed = (error: unknown) => failures.push(String(error))
  const encoder = eventEncoder(resource, form, () => ({ nowMs: 0, include: 'None' }))
  const fragile = {
    ...encoder,
    key: 'fragile',
    event: (type: Parameters<typeof encoder.event>[0], object: Parameters<typeof encoder.event>[1]) => {
      if (object.name === 'broken') throw new Error('no such column')
      return encoder.event(type, object)
    },
  }
  const noBookmarks = {
    ...encoder,
    bookmark: () => {
      throw new Error('no bookmark')
    },
  }
  const all = watch({}, { encoder: fragile, onFailed })
  const marked = watch({}, { encoder: noBookmarks, wantsBookmarks: true, onFailed })
  const other = watch({})
  await put('a', 'broken')
  await clock.advance(1)
  const late = watch({}, { encoder: fragile, onFailed })
  const puzzled = {
    ...selectionOf(resource.definition, '', { labelSelector: 'tier=web', fieldSelector: '' }),
    matches: ({ name }: { name: string }) => {
      if (name === 'bad') throw new Error('no labels')
      return false
    },
  }
  const selective = watch({}, { selection: puzzled, onFailed })
  await put('a', 'bad')
  await clock.advance({ seconds: 61 })
  for (const { client } of [all, marked, late, selective]) {
    const { type, object } = client.events.at(-1) ?? {}
    assert.deepEqual([type, object?.code, client.hasEnded], ['ERROR', 500, true])
  }
  await put('a', 'later')
  await clock.advance(1)
  assert.equal(other.client.hasEnded, false)
  assert.equal(other.client.events.at(-1)?.object.metadata.name, 'later')
  assert.equal(failures.length, 4)
  await memory.close()
})

/** Counts how many objects were compared. */
function counted(wish: { labelSelector: string }) {
  const selection = selectionOf(resource.definition, '', { fieldSelector: '', ...wish })
  const compared = { count: 0 }
  const matches: typeof selection.matches = (object) => {
    compared.count++
    return selection.matches(object)
  }
  return { compared, selection: { ...selection, matches } }
}

test('an initial state of which nothing is wanted is gone through in many turns', async () => {
  const { put, watch, clock, memory, cache } = await setUp()
  for (let index = 0; index < 9000; index++) await put('a', `n${index}`)
  const { selection, compared } = counted({ labelSelector: 'no=thing' })
  const { client } = watch({}, { selection, announcesInitialEvents: true })
  assert.ok(compared.count <= 2000, `${compared.count} in one turn`)
  await clock.advance(1)
  assert.equal(compared.count, 9000)
  assert.deepEqual(
    client.events.map(({ type, object }) => [type, object.metadata.resourceVersion]),
    [['BOOKMARK', String(cache.revision)]],
  )
  await memory.close()
})

test('a selector of many terms is compared in turns, not within the commit', async () => {
  const { put, watch, clock, memory, cache } = await setUp()
  const many = ['tier=web', ...Array.from({ length: 500 }, (_, index) => `!no${index}`)].join(',')
  const { selection, compared } = counted({ labelSelector: many })
  const { client } = watch({}, { selection })
  for (let index = 0; index < 300; index++) {
    await put('a', `n${index % 10}`, index % 3 === 0 ? {} : { tier: 'web' })
    if (index === 100) assert.equal(compared.count, 0)
    if (index > 200) await clock.advance(1)
  }
  assert.ok(compared.count > 0)
  const wanted = cache.list('').filter((object) => selection.matches(object))
  assert.ok(wanted.length > 0 && wanted.length < 10)
  assert.deepEqual(client.state, new Map(wanted.map(({ namespace, name, revision }) => [`${namespace}/${name}`, String(revision)])))
  await memory.close()
})

test('changes of large objects are written a few at a time', async () => {
  const { watch, clock, memory } = await setUp()
  const { client, expected } = watch({})
  const writes: number[] = []
  const { write } = client
  client.write = (bytes) => {
    writes.push(bytes.length)
    write.call(client, bytes)
  }
  const data = { fill: 'x'.repeat(100_000) }
  for (let index = 0; index < 40; index++) {
    const value = Buffer.from(
      JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `n${index}`, namespace: 'a' }, data }),
    )
    await memory.txn({ success: [{ put: { key: `${prefix}a/n${index}`, value } }] })
  }
  await clock.advance(1)
  assert.deepEqual(client.state, expected())
  assert.ok(Math.max(...writes) < 700_000, `${Math.max(...writes)} bytes`)
  await memory.close()
})
