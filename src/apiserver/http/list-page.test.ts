import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import { listPage } from '#apiserver/http/list-page.ts'
import { listOptions } from '#apiserver/http/query-options.ts'
import { selectionOf } from '#apiserver/http/selection.ts'
import type { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import { WatchCache } from '#apiserver/watch-cache/watch-cache.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import type { RangeRequest, Store } from '#store/store.ts'

const prefix = '/registry/configmaps/'
const found = builtInKinds.find(({ kind, version }) => kind === 'ConfigMap' && version === 'v1')
assert.ok(found)
const definition = found
const pad = (index: number) => String(index).padStart(5, '0')

/** Of which nobody has looked at an object since the server has started: none of them is parsed. */
async function setUp(count: number, fill = '') {
  const clock = new VirtualClock()
  const memory = new MemoryStore({ clock })
  for (let index = 0; index < count; index++) {
    const metadata = { name: `n${pad(index)}`, namespace: 'a', labels: { third: String(index % 3) } }
    const value = Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { fill } }))
    await memory.txn({ success: [{ put: { key: `${prefix}a/${metadata.name}`, value } }] })
  }
  const ranges: RangeRequest[] = []
  const store = Object.create(memory, {
    range: {
      value: (request: RangeRequest) => {
        ranges.push(request)
        return memory.range(request)
      },
    },
    revision: { get: () => memory.revision },
    watch: { value: (request: Parameters<Store['watch']>[0]) => memory.watch(request) },
  }) as Store
  const cache = new WatchCache({ store, clock, prefix, isNamespaced: true })
  await cache.start()
  ranges.length = 0
  let ways = 0
  const giveWay = () => {
    ways++
    return undefined
  }
  const source = { registry: { cache, definition } as unknown as ResourceRegistry, store, giveWay }
  const list = (query: string) => {
    const options = listOptions(new URLSearchParams(query), false)
    return listPage(source, selectionOf(definition, 'a', options), options, (signal) => clock.sleep(3000, signal))
  }
  return { list, cache, clock, memory, ranges, ways: () => ways }
}

test('pages of a selection are the selection, from memory and from the store', async () => {
  const { list, memory } = await setUp(100)
  const whole = (await list('labelSelector=third%3D1')).items.map(({ name }) => name)
  assert.equal(whole.length, 33)
  for (const limit of [1, 2, 7, 33, 34, 1000]) {
    const names: string[] = []
    let token = ''
    do {
      const page = await list(`labelSelector=third%3D1&limit=${limit}&continue=${encodeURIComponent(token)}`)
      assert.ok(page.items.length <= limit)
      names.push(...page.items.map(({ name }) => name))
      token = page.continueToken
    } while (token !== '')
    assert.deepEqual(names, whole, `by ${limit}`)
  }
  await memory.close()
})

test('a small page of which nothing is selected is looked for in few large ones', async () => {
  const { list, ranges, memory } = await setUp(5000)
  const { continueToken } = await list('limit=1')
  const { items } = await list(`limit=1&labelSelector=no%3Dthing&continue=${continueToken}`)
  assert.deepEqual(items, [])
  assert.ok(ranges.length <= 13, `${ranges.length} ranges`)
  await memory.close()
})

test('others are let in while objects are compared, the more often the more has to be parsed', async () => {
  const { list, ways, memory } = await setUp(3000, 'x'.repeat(1000))
  await list('labelSelector=no%3Dthing')
  const parsing = ways()
  assert.ok(parsing > 60, `${parsing} times`)
  await list('labelSelector=no%3Dthing')
  const comparing = ways() - parsing
  assert.ok(comparing >= 1 && comparing < 10, `${comparing} times`)
  await list(`labelSelector=${encodeURIComponent(Array.from({ length: 1000 }, (_, index) => `!no${index}`).join(','))}`)
  assert.ok(ways() - parsing - comparing > 500)
  await memory.close()
})

test('nothing is kept of those who asked for a revision that never came', async () => {
  const { list, cache, clock, memory } = await setUp(1)
  const asked = Array.from({ length: 50 }, () => list('resourceVersion=999999999999').catch((error: Error) => error.message))
  await clock.advance(1)
  assert.equal(cache.waiting, 50)
  await clock.advance({ seconds: 4 })
  for (const answer of await Promise.all(asked)) assert.match(String(answer), /Too large resource version/)
  assert.equal(cache.waiting, 0)
  await memory.close()
})
