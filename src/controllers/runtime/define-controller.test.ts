import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { controllerReference } from '#api/meta/owner-references.ts'
import { defined } from '#base/defined.ts'
import { type LogRecord, recordingLogger, silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { seededRandom } from '#base/random.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { type ControllerDefinition, defineController, terminal } from '#controllers/runtime/define-controller.ts'
import { defineLoop } from '#controllers/runtime/define-loop.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { runControllers } from '#controllers/runtime/run-controllers.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

type Run = { cluster: FakeCluster; metrics: Metrics; log: LogRecord[]; manager: ControllerManager }

async function running(controllers: readonly Controller[], use: (run: Run) => Promise<void>): Promise<void> {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client, clock } = cluster
  const metrics = new Metrics()
  const log: LogRecord[] = []
  const manager = new ControllerManager({
    controllers,
    client,
    clock,
    random: seededRandom(1),
    logger: recordingLogger(log),
    metrics,
    settings: defaultSettings,
    freezesObjects: true,
  })
  const started = manager.start()
  await cluster.advance({ seconds: 1 })
  await started
  try {
    await use({ cluster, metrics, log, manager })
  } finally {
    await manager.stop()
  }
}

const maps = (definition: Partial<ControllerDefinition<V1ConfigMap>> & Pick<ControllerDefinition<V1ConfigMap>, 'reconcile'>) =>
  defineController({ name: 'maps', for: ConfigMap, ...definition })
const place = (name: string) => ({ namespace: 'default', name })

test('an object is looked at when it comes, changes and goes; not for what is ignored', async () => {
  const looks: string[] = []
  const controller = maps({
    ignores: ({ metadata }) => metadata.namespace !== 'default' || metadata.name === 'dull',
    reconcile: async ({ metadata, data }) => void looks.push(`${metadata.name} ${data?.['key'] ?? ''}`),
    reconcileGone: async (namespace, name) => void looks.push(`${namespace}/${name} is gone`),
  })
  await running([controller], async ({ cluster }) => {
    await cluster.create(ConfigMap, { metadata: place('a') })
    await cluster.create(ConfigMap, { metadata: place('dull') })
    await cluster.advance(10)
    await cluster.client.patch(ConfigMap, place('a'), { data: { key: 'b' } })
    await cluster.advance(10)
    await cluster.client.delete(ConfigMap, place('a'))
    await cluster.advance(10)
  })
  assert.deepEqual(
    looks.filter((look) => !look.startsWith('kube-root')),
    ['a ', 'a b', 'default/a is gone'],
  )
})

test('what throws is tried again, later each time, and forgotten when it works; what is terminal waits for a change', async () => {
  const times: number[] = []
  let failures = 4
  let terminals = 0
  const controller = maps({
    ignores: ({ metadata }) => metadata.namespace !== 'default',
    async reconcile({ metadata }, { clock }) {
      if (metadata.name === 'hopeless') {
        terminals++
        throw terminal(new Error('this will never work'))
      }
      times.push(clock.monotonic())
      if (failures-- > 0) throw new Error('not yet')
    },
  })
  await running([controller], async ({ cluster, metrics }) => {
    await cluster.create(ConfigMap, { metadata: place('a') })
    await cluster.create(ConfigMap, { metadata: place('hopeless') })
    await cluster.advance({ minutes: 5 })
    const waits = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)))
    assert.deepEqual(waits, [5, 10, 20, 40])
    assert.equal(terminals, 1)
    await cluster.client.patch(ConfigMap, place('hopeless'), { data: { key: 'changed' } })
    await cluster.advance(10)
    assert.equal(terminals, 2)
    assert.match(metrics.text(), /workqueue_retries_total\{name="maps"\} 4/)
    assert.match(metrics.text(), /workqueue_depth\{name="maps"\} 0/)
  })
})

test('one object is with one worker at a time, and as many objects at once as there are workers', async () => {
  const busy = new Map<string, number>()
  let most = 0
  const controller = maps({
    ignores: ({ metadata }) => metadata.namespace !== 'default',
    concurrency: 3,
    async reconcile({ metadata }, { clock }) {
      const name = metadata.name ?? ''
      assert.equal(busy.get(name) ?? 0, 0, `${name} is with two workers`)
      busy.set(name, 1)
      most = Math.max(most, [...busy.values()].filter((each) => each > 0).length)
      await clock.sleep(100)
      busy.set(name, 0)
    },
  })
  await running([controller], async ({ cluster }) => {
    for (let index = 0; index < 8; index++) await cluster.create(ConfigMap, { metadata: place(`m${index}`) })
    await cluster.advance(50)
    for (let index = 0; index < 8; index++) await cluster.client.patch(ConfigMap, place(`m${index}`), { data: { key: 'b' } })
    await cluster.advance({ seconds: 5 })
  })
  assert.equal(most, 3)
})

test('the cache has seen what earlier looks at the object wrote, however late the watch is', async () => {
  // Whoever counts in a stale cache makes a second secret.
  const controller = maps({
    owns: [Secret],
    ignores: ({ metadata }) => metadata.namespace !== 'default',
    async reconcile(map, { cache, client }) {
      if (cache.controlledBy(Secret, map).length > 0) return
      await client.create(Secret, {
        metadata: { namespace: 'default', generateName: 'made-', ownerReferences: [controllerReference(map, ConfigMap)] },
      })
      throw new Error('interrupted right after the write')
    },
  })
  await running([controller], async ({ cluster }) => {
    await cluster.create(ConfigMap, { metadata: place('a') })
    await cluster.advance({ seconds: 10 })
    const made = async () => (await cluster.list(Secret, 'default')).filter(({ metadata }) => metadata.name?.startsWith('made-'))
    assert.equal((await made()).length, 1)
    // What it owns is looked after.
    for (const { metadata } of await made()) await cluster.client.delete(Secret, metadata)
    await cluster.advance({ seconds: 10 })
    assert.equal((await made()).length, 1)
  })
})

test('a look asked for later comes then, and changes shortly after each other are one look', async () => {
  const times: number[] = []
  const controller = maps({
    ignores: ({ metadata }) => metadata.namespace !== 'default',
    batchMs: 50,
    async reconcile(_map, { clock, requeueAfter }) {
      times.push(clock.monotonic())
      if (times.length < 3) requeueAfter(60_000)
    },
  })
  await running([controller], async ({ cluster }) => {
    await cluster.create(ConfigMap, { metadata: place('a') })
    for (const key of ['b', 'c', 'd']) await cluster.client.patch(ConfigMap, place('a'), { data: { key } })
    await cluster.advance({ minutes: 5 })
  })
  assert.deepEqual(
    times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0))),
    [60_000, 60_000],
  )
})

test('a loop goes round in its period, and a round that fails does not end it', async () => {
  let rounds = 0
  const loop = defineLoop({
    name: 'round',
    reads: [ConfigMap],
    periodMs: () => 10_000,
    begin: () => async () => {
      rounds++
      if (rounds === 2) throw new Error('this round is lost')
    },
  })
  await running([loop], async ({ cluster, log }) => {
    await cluster.advance({ seconds: 35 })
    assert.equal(rounds, 4)
    assert.ok(log.some(({ message }) => message === 'controller sync failed, retrying'))
  })
  assert.equal(rounds, 4)
})

test('controllers that are told to stop before they have started do stop, and say so', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const stop = new AbortController()
  // A server that never answers.
  const client = new Proxy(cluster.client, {
    get: (target, name) =>
      name === 'watchBatches'
        ? async function* () {
            await new Promise(() => {})
          }
        : Reflect.get(target, name, target),
  })
  const manager = new ControllerManager({
    controllers: [maps({ reconcile: async () => {} })],
    client,
    clock: cluster.clock,
    random: seededRandom(1),
    logger: silentLogger,
    settings: defaultSettings,
  })
  const started = manager.start(stop.signal)
  await cluster.advance({ seconds: 5 })
  stop.abort()
  await assert.rejects(started, /stopped before they had started/)
})

test('runControllers works until its signal aborts, by itself or as the one that leads', async () => {
  for (const leaderElection of [undefined, { namespace: 'default', name: 'maps' }]) {
    await using cluster = await FakeCluster.start({ withoutNodes: true })
    const stop = new AbortController()
    const looks: string[] = []
    const controller = maps({
      ignores: ({ metadata }) => metadata.namespace !== 'default',
      reconcile: async ({ metadata }) => void looks.push(metadata.name ?? ''),
    })
    const done = runControllers({
      client: cluster.client,
      controllers: [controller],
      signal: stop.signal,
      clock: cluster.clock,
      random: seededRandom(1),
      ...defined({ leaderElection }),
    })
    await cluster.advance({ seconds: 1 })
    await cluster.create(ConfigMap, { metadata: place('a') })
    await cluster.advance({ seconds: 1 })
    assert.deepEqual(looks, ['a'])
    stop.abort()
    await cluster.advance({ seconds: 1 })
    await done
    await cluster.create(ConfigMap, { metadata: place('b') })
    await cluster.advance({ seconds: 1 })
    assert.deepEqual(looks, ['a'])
  }
})
