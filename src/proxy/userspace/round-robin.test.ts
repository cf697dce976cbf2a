import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import { RoundRobin } from '#proxy/userspace/round-robin.ts'

const endpoints = ['a', 'b', 'c'].map((text) => ({ text }) as Endpoint)
const first = (order: readonly Endpoint[]) => order[0]?.text

test('each endpoint has its turn, and the others stand behind it', () => {
  const turns = new RoundRobin(new VirtualClock())
  const orders = Array.from({ length: 4 }, () => turns.order(endpoints, 'x', undefined).map(({ text }) => text))
  assert.deepEqual(orders, [
    ['a', 'b', 'c'],
    ['b', 'c', 'a'],
    ['c', 'a', 'b'],
    ['a', 'b', 'c'],
  ])
})

test('a client stays with its endpoint until its time is up or the endpoint goes', async () => {
  const clock = new VirtualClock()
  const turns = new RoundRobin(clock)
  const ask = (client: string, among = endpoints) => {
    const [endpoint] = turns.order(among, client, 10)
    assert.ok(endpoint)
    turns.served(client, endpoint, 10)
    return endpoint.text
  }
  assert.deepEqual([ask('x'), ask('y'), ask('x'), ask('y')], ['a', 'b', 'a', 'b'])
  await clock.advance(9000)
  assert.equal(ask('x'), 'a', 'asking again begins anew')
  await clock.advance(9000)
  assert.equal(ask('x'), 'a')
  await clock.advance(10_001)
  assert.equal(ask('x'), 'c', 'its time is up')
  assert.equal(ask('x', endpoints.slice(0, 2)), first(endpoints.slice(1, 2)), 'its endpoint is gone')
})

test('clients who stay away are forgotten, though others before them come again and again; and there is a most of them', async () => {
  const clock = new VirtualClock()
  const turns = new RoundRobin(clock)
  const [endpoint] = endpoints
  assert.ok(endpoint)
  const living = ['a', 'b', 'c', 'd', 'e']
  for (const client of living) turns.served(client, endpoint, 10)
  for (let index = 0; index < 1000; index++) {
    await clock.advance(1000)
    turns.served(`once ${index}`, endpoint, 10)
    for (const client of living) turns.served(client, endpoint, 10)
  }
  assert.ok(turns.clientCount < 30, `${turns.clientCount}`)
  for (let index = 0; index < 100_000; index++) turns.served(`spoofed ${index}`, endpoint, 10_000)
  assert.equal(turns.clientCount, 65_536)
})
