/** Parts of one process share objects with the server: what they get is what clients elsewhere read in their JSON. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { Event as EventsEvent } from '#api/events/v1/kinds.gen.ts'
import { isInvalid, isNotFound } from '#api/meta/server-response.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import type { Transport } from '#client/transport.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const client = (transport: Transport) => new Client({ transport, userAgent: 'test' })
/** Over bytes, as from elsewhere. */
const asBytes = (transport: Transport): Transport => ({
  async send(request) {
    const { value: _value, values: _values, ...response } = await transport.send(request)
    return response
  },
})
const map = (name: string): V1ConfigMap => ({ metadata: { namespace: 'default', name }, data: { b: '2', a: '1' } })

test('answers say the same as values and as bytes, and are the own of whoever asks', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const transport = cluster.transportAs('admin', ['system:masters'])
  const [byValue, byBytes] = [client(transport), client(asBytes(transport))]
  const created = await byValue.create(ConfigMap, map('a'))
  const read = await byValue.get(ConfigMap, 'default', 'a')
  assert.deepEqual(created, await byBytes.get(ConfigMap, 'default', 'a'))
  assert.deepEqual(read, created)
  read.data = { c: '3' }
  Object.assign(created.metadata ?? {}, { labels: { mine: 'yes' } })
  const updated = await byValue.update(ConfigMap, read)
  assert.deepEqual(updated, await byBytes.get(ConfigMap, 'default', 'a'))
  assert.deepEqual(updated.data, { c: '3' })
  assert.equal(updated.metadata?.labels, undefined)
})

test('a kind that is stored in another version than it is asked for says the same both ways', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const transport = cluster.transportAs('admin', ['system:masters'])
  const event = {
    metadata: { namespace: 'default', name: 'e' },
    ...{ eventTime: '2026-01-01T00:00:00.000000Z', reportingController: 'example.com/me', reportingInstance: 'me-1', action: 'Try' },
    ...{ reason: 'Tried', type: 'Normal', note: 'it was tried', regarding: { kind: 'Pod', namespace: 'default', name: 'p' } },
  }
  const created = await client(transport).create(EventsEvent, event)
  assert.deepEqual(created, await client(asBytes(transport)).get(EventsEvent, 'default', 'e'))
})

test('watches tell of the same both ways, a deletion too', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const transport = cluster.transportAs('admin', ['system:masters'])
  const abort = new AbortController()
  const follow = async (road: Transport) => {
    const seen: unknown[] = []
    const options = { namespace: 'default', fieldSelector: 'metadata.name=a', sendInitialEvents: true, allowWatchBookmarks: true }
    for await (const event of client(road).watch(ConfigMap, { ...options, resourceVersionMatch: 'NotOlderThan', signal: abort.signal })) {
      seen.push(event)
      if (event.type === 'DELETED') return seen
    }
    return seen
  }
  const following = Promise.all([follow(transport), follow(asBytes(transport))])
  await cluster.clock.settle()
  const writer = client(transport)
  const created = await writer.create(ConfigMap, map('a'))
  await writer.update(ConfigMap, { ...created, data: { c: '3' } })
  await writer.delete(ConfigMap, { namespace: 'default', name: 'a' })
  await cluster.clock.settle()
  const [values, bytes] = await following
  assert.deepEqual(values, bytes)
  assert.equal(values.length, 4)
  abort.abort()
})

test('integers that are too large for a number come as clients elsewhere read them', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const send = cluster.transportAs('admin', ['system:masters'])
  const body =
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"terminationGracePeriodSeconds":9007199254740993,"containers":[{"name":"a","image":"b"}]}}'
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const answer = await send.send({ method: 'POST', target: '/api/v1/namespaces/default/pods', headers, body })
  assert.equal(answer.status, 201)
  const pod = await client(send).get(Pod, 'default', 'p')
  assert.equal(typeof pod.spec.terminationGracePeriodSeconds, 'number')
})

test('refusals are the same both ways', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const transport = cluster.transportAs('admin', ['system:masters'])
  const roads = [
    client(transport),
    client(asBytes(transport)),
    client(inProcessTransport(transportServer(transport), { sharesObjects: false })),
  ]
  for (const road of roads) {
    await assert.rejects(road.get(ConfigMap, 'default', 'none'), isNotFound)
    await assert.rejects(road.create(ConfigMap, map('Not A Name')), isInvalid)
  }
  const messages = await Promise.all(
    roads.map((road) => road.create(ConfigMap, { ...map('a'), data: { a: 1 as never } }).catch((error: unknown) => String(error))),
  )
  assert.match(String(messages[0]), /cannot handle|cannot be handled as a ConfigMap/)
  assert.equal(new Set(messages).size, 1)
})

/** The server behind a transport, as a transport would see it. */
function transportServer(transport: Transport): Parameters<typeof inProcessTransport>[0] {
  return async ({ takesValues, ...request }) => {
    assert.equal(takesValues, false)
    const response = await transport.send(request as Parameters<Transport['send']>[0])
    return { status: response.status, headers: {}, body: Buffer.from(await response.text()), chunks: () => response.chunks() }
  }
}
