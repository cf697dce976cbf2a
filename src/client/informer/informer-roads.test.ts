/** The ways an informer gets at the present state, and what it does when one of them is closed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { Informer, type InformerOptions } from '#client/informer/informer.ts'
import { Informers } from '#client/informer/informers.ts'
import type { Transport, TransportRequest, TransportResponse } from '#client/transport.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

type Refusal = { code: number; reason: string }

/** What was asked of the server, and a say in what it answers. */
class Road {
  readonly targets: URLSearchParams[] = []
  refuse: (query: URLSearchParams) => Refusal | undefined = () => undefined
  readonly #cut = new Set<() => void>()
  readonly transport: Transport

  constructor(road: Transport) {
    this.transport = {
      send: async (request) => {
        const query = new URLSearchParams(request.target.split('?')[1] ?? '')
        this.targets.push(query)
        const refusal = this.refuse(query)
        return refusal === undefined ? this.#cuttable(road, request) : refused(refusal)
      },
    }
  }

  /** Breaks every watch there is. */
  cut(): void {
    for (const each of [...this.#cut]) each()
  }

  async #cuttable(road: Transport, request: TransportRequest): Promise<TransportResponse> {
    const abort = new AbortController()
    const signal = request.signal === undefined ? abort.signal : AbortSignal.any([abort.signal, request.signal])
    this.#cut.add(() => abort.abort(new Error('the connection broke')))
    return road.send({ ...request, signal })
  }
}

function refused({ code, reason }: Refusal): TransportResponse {
  const status = { kind: 'Status', status: 'Failure', code, reason, message: reason }
  return { status: code, header: () => undefined, text: async () => JSON.stringify(status), chunks: async function* () {} }
}

async function following(
  use: (parts: { cluster: FakeCluster; road: Road; informer: Informer<V1ConfigMap>; notifications: string[] }) => Promise<void>,
  options: Partial<InformerOptions<V1ConfigMap>> = {},
  refuse?: Road['refuse'],
): Promise<void> {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const road = new Road(cluster.transportAs('admin', ['system:masters']))
  if (refuse !== undefined) road.refuse = refuse
  const client = new Client({ transport: road.transport, userAgent: 'test' })
  const { clock } = cluster
  await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'first', labels: { side: 'left' } } })
  const informer = new Informer({
    client,
    kind: ConfigMap,
    namespace: 'default',
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    ...options,
  })
  const notifications: string[] = []
  informer.addHandler({
    onAdd: ({ metadata }) => void notifications.push(`+${metadata.name}`),
    onUpdate: ({ metadata }) => void notifications.push(`~${metadata.name}`),
    onDelete: ({ metadata }) => void notifications.push(`-${metadata.name}`),
  })
  informer.start()
  await cluster.advance({ seconds: 1 })
  try {
    await use({ cluster, road, informer, notifications })
  } finally {
    informer.stop()
  }
}

const make = (cluster: FakeCluster, name: string, labels = {}) =>
  cluster.create(ConfigMap, { metadata: { namespace: 'default', name, labels } })

test('one request brings the state and what comes after it', () =>
  following(async ({ cluster, road, informer, notifications }) => {
    assert.deepEqual([informer.hasSynced, notifications], [true, ['+first']])
    await make(cluster, 'second')
    await cluster.advance({ seconds: 1 })
    assert.deepEqual(notifications, ['+first', '+second'])
    assert.equal(road.targets.length, 1)
    assert.equal(road.targets[0]?.get('sendInitialEvents'), 'true')
    assert.equal(road.targets[0]?.get('allowWatchBookmarks'), 'true')
  }))

for (const refusal of [
  { code: 422, reason: 'Invalid' },
  { code: 400, reason: 'BadRequest' },
  { code: 500, reason: 'InternalError' },
]) {
  test(`a server that knows no watch list (${refusal.code}) is asked for a list and a watch from it`, () =>
    following(
      async ({ cluster, road, notifications }) => {
        await make(cluster, 'second')
        await cluster.advance({ seconds: 5 })
        assert.deepEqual(notifications, ['+first', '+second'])
        assert.deepEqual(
          road.targets.map((query) => (query.has('sendInitialEvents') ? 'watch list' : query.has('watch') ? 'watch' : 'list')),
          ['watch list', 'list', 'watch'],
        )
      },
      {},
      (query) => (query.has('sendInitialEvents') ? refusal : undefined),
    ))
}

test('a watch that broke goes on where it was, and tells nothing twice', () =>
  following(async ({ cluster, road, informer, notifications }) => {
    const seen = informer.version
    road.cut()
    await make(cluster, 'meanwhile')
    await cluster.advance({ seconds: 10 })
    assert.deepEqual(notifications, ['+first', '+meanwhile'])
    assert.equal(road.targets.at(-1)?.get('resourceVersion'), seen)
    assert.equal(road.targets.at(-1)?.get('sendInitialEvents'), null)
  }))

test('a version that has expired makes it begin anew, and only differences are told', () =>
  following(async ({ cluster, road, notifications }) => {
    await make(cluster, 'stays')
    await make(cluster, 'goes')
    await cluster.advance({ seconds: 1 })
    notifications.length = 0
    road.refuse = (query) => (query.has('resourceVersion') ? { code: 410, reason: 'Expired' } : undefined)
    road.cut()
    await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'goes' })
    await cluster.client.patch(ConfigMap, { namespace: 'default', name: 'first' }, { data: { key: 'value' } })
    await make(cluster, 'comes')
    await cluster.advance({ seconds: 10 })
    assert.deepEqual(notifications.sort(), ['+comes', '-goes', '~first'])
  }))

test('an object of the same name that is another one is told as gone and come', () =>
  following(async ({ cluster, road, notifications }) => {
    road.refuse = (query) => (query.has('resourceVersion') ? { code: 410, reason: 'Expired' } : undefined)
    road.cut()
    await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'first' })
    await make(cluster, 'first')
    await cluster.advance({ seconds: 10 })
    assert.deepEqual(notifications, ['+first', '-first', '+first'])
  }))

test('every so often all are told of again, for those who want that', () =>
  following(
    async ({ cluster, notifications }) => {
      await cluster.advance({ seconds: 65 })
      assert.deepEqual(notifications, ['+first', '~first', '~first'])
    },
    { resyncMs: 30_000 },
  ))

test('only what is selected is followed; who comes late is told of what is there', () =>
  following(
    async ({ cluster, informer, notifications }) => {
      await make(cluster, 'right', { side: 'right' })
      await make(cluster, 'left', { side: 'left' })
      await cluster.advance({ seconds: 1 })
      assert.deepEqual(notifications, ['+first', '+left'])
      await cluster.client.patch(ConfigMap, { namespace: 'default', name: 'left' }, { metadata: { labels: { side: 'right' } } })
      await cluster.advance({ seconds: 1 })
      assert.deepEqual(notifications, ['+first', '+left', '-left'])
      const late: string[] = []
      using _handler = informer.addHandler({ onAdd: ({ metadata }) => void late.push(metadata.name ?? '') })
      assert.deepEqual(late, ['first'])
    },
    { labelSelector: 'side=left' },
  ))

test('who waits for a version is told when it has been seen', () =>
  following(async ({ cluster, informer }) => {
    const made = await make(cluster, 'second')
    let isSeen = false
    void informer.whenSeen(made.metadata.resourceVersion ?? '').then(() => {
      isSeen = true
    })
    assert.equal(informer.get('default', 'second'), undefined)
    await cluster.advance({ seconds: 1 })
    assert.ok(isSeen)
    assert.notEqual(informer.get('default', 'second'), undefined)
  }))

test('one informer serves all who ask for a kind; one that is dropped is forgotten', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  using informers = new Informers({ client: cluster.client, clock: cluster.clock, random: seededRandom(1), logger: silentLogger })
  const one = informers.of(ConfigMap)
  const started = informers.start()
  await cluster.advance({ seconds: 1 })
  await started
  assert.equal(informers.of(ConfigMap), one)
  assert.ok(one.hasSynced)
  informers.drop(ConfigMap)
  assert.equal(informers.find(ConfigMap), undefined)
  assert.notEqual(informers.of(ConfigMap), one)
})
