import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { Leadership } from '#cmd/up/leadership.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

test('parts run on one of several machines, and within five seconds on another when that one is cut off, whatever its clock says', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: [] })
  const { clock } = cluster
  const running = new Set<string>()
  const cut = new Set<string>()
  const candidate = (hostName: string, seed: number, offsetMs = 0) => {
    const own: Clock = Object.assign(Object.create(clock) as Clock, {
      now: () => clock.now() + offsetMs,
      nowMicros: () => clock.nowMicros() + offsetMs * 1000,
    })
    for (const name of ['monotonic', 'sleep', 'after'] as const) Object.assign(own, { [name]: clock[name].bind(clock) })
    const transport = cluster.transportAs('system:kube-scheduler', [])
    const client = new Client({
      transport: { send: (request) => (cut.has(hostName) ? Promise.reject(new Error('the network is cut')) : transport.send(request)) },
      userAgent: 'test',
    })
    const leadership = new Leadership({
      ...{ client, clock: own, random: seededRandom(seed), logger: silentLogger, lease: 'kube-scheduler', hostName },
    })
    return { leadership, part: `part of ${hostName}` }
  }
  const candidates = [candidate('one', 1), candidate('two', 2, -7 * 60_000), candidate('three', 3, 5 * 60_000)]
  const begin = async () => {
    for (const { leadership, part } of candidates) {
      await leadership.start()
      await leadership.add('part', async (stage) => {
        running.add(part)
        stage.defer(() => running.delete(part))
      })
    }
  }
  let isBegun = false
  const begun = begin().then(() => {
    isBegun = true
  })
  for (let seconds = 0; !isBegun && seconds < 30; seconds++) await cluster.advance({ seconds: 1 })
  await begun
  assert.deepEqual([...running], ['part of one'])

  cut.add('one')
  const cutMs = clock.now()
  for (let tries = 0; (running.has('part of one') || running.size === 0) && tries < 100; tries++) {
    await cluster.advance({ seconds: 0.1 })
    assert.ok(running.size <= 1, 'who cannot renew stops before the next one starts')
  }
  assert.equal(running.size, 1)
  assert.ok(clock.now() - cutMs <= 5000, `${clock.now() - cutMs} ms`)

  const stopping = Promise.all(candidates.map(({ leadership }) => leadership.stop()))
  await cluster.advance({ seconds: 10 })
  await stopping
  assert.equal(running.size, 0)
  const { spec } = await cluster.client.get(Lease, 'kube-system', 'kube-scheduler')
  assert.equal(spec?.holderIdentity ?? '', '', 'the lease is given back')
})

test('a part that does not start costs the term: the lease is sought again, and it is tried once more', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: [] })
  const client = new Client({ transport: cluster.transportAs('system:kube-scheduler', []), userAgent: 'test' })
  const { clock, random } = cluster
  const leadership = new Leadership({ client, clock, random, logger: silentLogger, lease: 'kube-scheduler', hostName: 'one' })
  const story: string[] = []
  await leadership.add('first', async (stage) => {
    story.push('first')
    stage.defer(() => story.push('first stopped'))
  })
  await leadership.add('second', async () => {
    story.push('second')
    if (!story.includes('first stopped')) throw new Error('it is not there yet')
  })
  const started = leadership.start()
  for (let tries = 0; story.length < 5 && tries < 100; tries++) await cluster.advance({ seconds: 0.5 })
  await started
  assert.deepEqual(story, ['first', 'second', 'first stopped', 'first', 'second'])
  const stopping = leadership.stop()
  await cluster.advance({ seconds: 10 })
  await stopping
})
