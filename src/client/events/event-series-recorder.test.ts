import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Node } from '#api/core/v1/kinds.gen.ts'
import { Event } from '#api/events/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
import { EventSeriesRecorder } from '#client/events/event-series-recorder.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

async function withRecorder(use: (cluster: FakeCluster, recorder: EventSeriesRecorder, say: (reason?: string) => void) => Promise<void>) {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client, clock } = cluster
  await using recorder = new EventSeriesRecorder({
    client,
    clock,
    logger: silentLogger,
    controller: 'example.com/tester',
    instance: 'tester-1',
  })
  const object = await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'thing' } })
  const say = (reason = 'Tried') => recorder.record(ConfigMap, object, { type: 'Warning', reason, action: 'Trying', note: 'it failed' })
  await use(cluster, recorder, say)
}

test('an event of events.k8s.io has an action, an instance and no series', () =>
  withRecorder(async (cluster, recorder, say) => {
    say()
    await recorder.flush()
    const [event] = await cluster.list(Event, 'default')
    assert.equal(event?.series, undefined)
    assert.deepEqual(
      [event?.type, event?.reason, event?.action, event?.note, event?.reportingController, event?.reportingInstance],
      ['Warning', 'Tried', 'Trying', 'it failed', 'example.com/tester', 'tester-1'],
    )
    assert.equal(event?.regarding?.name, 'thing')
    assert.match(event?.eventTime ?? '', /\.\d{6}Z$/)
  }))

test('repetitions become a series: the second is told at once, the rest when it ends', () =>
  withRecorder(async (cluster, recorder, say) => {
    const seen = async () => {
      await recorder.flush()
      return (await cluster.list(Event, 'default')).map(({ series }) => series?.count)
    }
    say()
    assert.deepEqual(await seen(), [undefined])
    say()
    assert.deepEqual(await seen(), [2])
    for (let time = 0; time < 5; time++) say()
    assert.deepEqual(await seen(), [2])
    await cluster.advance({ minutes: 13 })
    assert.deepEqual(await seen(), [7])
    assert.equal(cluster.clock.pending > 0, true)
    // The series is over: what happens now is another event.
    say()
    assert.deepEqual((await seen()).sort(), [7, undefined])
  }))

test('a series that goes on for long is told again, and made anew when the server forgot it', () =>
  withRecorder(async (cluster, recorder, say) => {
    say()
    say()
    await recorder.flush()
    for (const { metadata } of await cluster.list(Event, 'default')) await cluster.client.delete(Event, metadata)
    for (let minute = 0; minute < 31; minute++) {
      await cluster.advance({ minutes: 1 })
      say()
    }
    await recorder.flush()
    const [event, ...others] = await cluster.list(Event, 'default')
    assert.deepEqual(others, [])
    assert.ok((event?.series?.count ?? 0) >= 30)
  }))

test('reasons, and related objects, make different events; a long note is cut', () =>
  withRecorder(async (cluster, recorder, say) => {
    say()
    say('Other')
    const node = await cluster.create(Node, { metadata: { name: 'n1' }, spec: {} })
    const event = { type: 'Normal', reason: 'Placed', action: 'Binding', note: 'x'.repeat(3000) } as const
    recorder.recordFor({ kind: 'ConfigMap', apiVersion: 'v1', namespace: 'default', name: 'thing' }, event)
    recorder.record(ConfigMap, { metadata: { namespace: 'default', name: 'thing' } }, event, { kind: Node as never, object: node })
    await recorder.flush()
    const events = await cluster.list(Event, 'default')
    assert.equal(events.length, 4)
    assert.equal(events.find(({ related }) => related?.kind === 'Node')?.related?.name, 'n1')
    assert.ok(events.every(({ note }) => (note ?? '').length <= 1024))
  }))
