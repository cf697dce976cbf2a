import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Event } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap, V1Event } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { silentLogger } from '#base/log.ts'
import { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import type { Transport } from '#client/transport.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

type EventLimit = { perSecond: number; burst: number }

class Fixture implements AsyncDisposable {
  readonly cluster: FakeCluster
  readonly object: V1ConfigMap
  readonly recorder: EventRecorder
  /** While cut off, no answer is had at all. */
  isCutOff = false
  writes = 0

  private constructor(cluster: FakeCluster, object: V1ConfigMap, limit?: EventLimit) {
    this.cluster = cluster
    this.object = object
    const road = cluster.transportAs('admin', ['system:masters'])
    const transport: Transport = {
      send: (request) => {
        this.writes++
        return this.isCutOff ? Promise.reject(new Error('connection refused')) : road.send(request)
      },
    }
    const client = new Client({ transport, userAgent: 'test' })
    this.recorder = new EventRecorder({
      client,
      clock: cluster.clock,
      logger: silentLogger,
      component: 'tester',
      host: 'here',
      ...defined({ limit }),
    })
  }

  static async start(limit?: EventLimit): Promise<Fixture> {
    const cluster = await FakeCluster.start({ withoutNodes: true })
    return new Fixture(cluster, await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'thing' } }), limit)
  }

  say(reason: string, message: string, type: 'Normal' | 'Warning' = 'Normal'): void {
    this.recorder.record(ConfigMap, this.object, type, reason, message)
  }

  async events(): Promise<V1Event[]> {
    await this.recorder.flush()
    return this.cluster.list(Event, 'default')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.recorder[Symbol.asyncDispose]()
    await this.cluster[Symbol.asyncDispose]()
  }
}

test('an event tells of what, by whom, when and why', async () => {
  await using fixture = await Fixture.start()
  fixture.say('Made', 'It was made', 'Warning')
  const [event] = await fixture.events()
  assert.deepEqual(
    { ...event?.involvedObject, resourceVersion: '' },
    { kind: 'ConfigMap', apiVersion: 'v1', namespace: 'default', name: 'thing', uid: fixture.object.metadata.uid, resourceVersion: '' },
  )
  assert.match(event?.metadata.name ?? '', /^thing\.[0-9a-f]+$/)
  const { type, reason, message, count, source, reportingComponent, firstTimestamp, lastTimestamp } = event ?? ({} as V1Event)
  assert.deepEqual([type, reason, message, count], ['Warning', 'Made', 'It was made', 1])
  assert.deepEqual(source, { component: 'tester', host: 'here' })
  assert.equal(reportingComponent, 'tester')
  assert.equal(firstTimestamp, lastTimestamp)
})

test('a message as long as what somebody sent is cut, and known again', async () => {
  await using fixture = await Fixture.start()
  const text = `refused: ${'x'.repeat(100_000)}`
  fixture.say('Failed', text)
  await fixture.events()
  fixture.say('Failed', text)
  const [event, ...more] = await fixture.events()
  assert.deepEqual(more, [])
  assert.equal(event?.count, 2)
  assert.equal(event.message, `${text.slice(0, 8188)} ...`)
})

test('the same again is counted, not written again', async () => {
  await using fixture = await Fixture.start()
  for (let time = 0; time < 5; time++) {
    fixture.say('Again', 'and again')
    await fixture.recorder.flush()
    await fixture.cluster.advance({ seconds: 10 })
  }
  const events = await fixture.events()
  assert.equal(events.length, 1)
  assert.equal(events[0]?.count, 5)
  assert.equal(Date.parse(events[0]?.lastTimestamp ?? '') - Date.parse(events[0]?.firstTimestamp ?? ''), 40_000)
})

test('repeats before the first was written are counted as well', async () => {
  await using fixture = await Fixture.start()
  for (let time = 0; time < 4; time++) fixture.say('Again', 'at once')
  const events = await fixture.events()
  assert.deepEqual(
    events.map(({ count }) => count),
    [4],
  )
})

test('an event that the server has forgotten meanwhile is written anew, with its count', async () => {
  await using fixture = await Fixture.start()
  fixture.say('Again', 'and again')
  const [first] = await fixture.events()
  await fixture.cluster.client.delete(Event, first?.metadata ?? {})
  fixture.say('Again', 'and again')
  const events = await fixture.events()
  assert.deepEqual(
    events.map(({ count }) => count),
    [2],
  )
})

test('from the tenth on, similar events are gathered into one; after ten quiet minutes they are told apart again', async () => {
  await using fixture = await Fixture.start()
  for (let time = 1; time <= 14; time++) fixture.say('Similar', `number ${time}`)
  let messages = (await fixture.events()).map(({ message, count }) => [message, count])
  assert.equal(messages.length, 10)
  assert.deepEqual(messages.at(-1), ['(combined from similar events): number 14', 5])
  assert.ok(messages.slice(0, 9).every(([message], index) => message === `number ${index + 1}`))
  await fixture.cluster.advance({ minutes: 11 })
  fixture.say('Similar', 'number 15')
  messages = (await fixture.events()).map(({ message, count }) => [message, count])
  assert.ok(messages.some(([message]) => message === 'number 15'))
})

test('who says too much of one object is silenced, may say one more every five minutes, and others are still heard', async () => {
  await using fixture = await Fixture.start()
  for (let time = 0; time < 40; time++) fixture.say(`Reason${time}`, 'chatter')
  assert.equal((await fixture.events()).length, 25)
  // Warnings have a measure of their own.
  fixture.say('Trouble', 'this is serious', 'Warning')
  assert.equal((await fixture.events()).length, 26)
  await fixture.cluster.advance({ minutes: 5 })
  fixture.say('Later', 'one more')
  fixture.say('Later2', 'and one too many')
  assert.equal((await fixture.events()).length, 27)
})

test('where events are limited, those beyond the burst wait for their turn, and none is lost', async () => {
  await using fixture = await Fixture.start({ perSecond: 1, burst: 2 })
  for (const reason of ['A', 'B', 'C', 'D']) fixture.say(reason, 'said')
  const written = async () => (await fixture.cluster.list(Event, 'default')).length
  await fixture.cluster.advance(500)
  assert.equal(await written(), 2)
  await fixture.cluster.advance(1000)
  assert.equal(await written(), 3)
  await fixture.cluster.advance(1000)
  assert.equal(await written(), 4)
})

test('while the server cannot be reached events wait, and come in order; closing does not wait for it', async () => {
  await using fixture = await Fixture.start()
  fixture.isCutOff = true
  fixture.say('First', 'a')
  fixture.say('Second', 'b')
  await fixture.cluster.advance({ seconds: 25 })
  assert.equal(fixture.writes, 3)
  fixture.isCutOff = false
  await fixture.cluster.advance({ seconds: 10 })
  assert.deepEqual(
    (await fixture.events()).map(({ reason }) => reason),
    ['First', 'Second'],
  )
  fixture.isCutOff = true
  const before = fixture.writes
  for (const reason of ['Third', 'Fourth', 'Fifth']) fixture.say(reason, 'c')
  await fixture.recorder[Symbol.asyncDispose]()
  // Those after the one that failed are not even tried.
  assert.equal(fixture.writes, before + 1)
})

test('what the server refuses is dropped, and what comes after it is written', async () => {
  await using fixture = await Fixture.start()
  fixture.recorder.recordFor(
    { kind: 'ConfigMap', apiVersion: 'v1', namespace: 'nowhere', name: 'x' },
    'Normal',
    'Lost',
    'no such namespace',
  )
  fixture.say('Kept', 'a')
  assert.deepEqual(
    (await fixture.events()).map(({ reason }) => reason),
    ['Kept'],
  )
})
