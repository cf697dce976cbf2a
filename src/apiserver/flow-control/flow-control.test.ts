import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1FlowSchema, V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { Metrics } from '#base/metrics.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { heapKeptBy, longTexts } from '#base/testing/heap-kept-by.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { FlowControl, type Seat, TooManyRequests } from './flow-control.ts'
import { FlowMetrics } from './flow-metrics.ts'
import { shareOut } from './priority-level.ts'
import { dealHand } from './shuffle-shard.ts'

const info = requestInfo('GET', '/api/v1/namespaces/default/pods/a', new URLSearchParams())

type LevelSpec = {
  shares?: number
  queues?: number
  handSize?: number
  queueLengthLimit?: number
  rejects?: true
  exempt?: true
  lendablePercent?: number
  borrowingLimitPercent?: number
}

function level(
  name: string,
  { shares = 10, queues = 16, handSize = 4, queueLengthLimit = 50, rejects, exempt, ...lending }: LevelSpec = {},
): V1PriorityLevelConfiguration {
  const metadata = { name, uid: `level ${name}` }
  if (exempt) return { metadata, spec: { type: 'Exempt', exempt: {} } }
  const limitResponse = rejects ? { type: 'Reject' } : { type: 'Queue', queuing: { queues, handSize, queueLengthLimit } }
  return { metadata, spec: { type: 'Limited', limited: { nominalConcurrencyShares: shares, limitResponse, ...lending } } }
}

/** Everything of users whose name begins so. */
function schema(name: string, levelName: string, group = '*', precedence = 100): V1FlowSchema {
  const resourceRules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }]
  return {
    metadata: { name, uid: `schema ${name}` },
    spec: {
      priorityLevelConfiguration: { name: levelName },
      matchingPrecedence: precedence,
      distinguisherMethod: { type: 'ByUser' },
      rules: [{ subjects: [{ kind: 'Group', group: { name: group } }], resourceRules }],
    },
  }
}

function flowControl(schemas: V1FlowSchema[], levels: V1PriorityLevelConfiguration[], serverSeats = 10) {
  const clock = new VirtualClock()
  const metrics = new Metrics()
  const flow = new FlowControl({ clock, metrics: new FlowMetrics(metrics), serverSeats, waitLimitMs: 15_000 })
  flow.configure(schemas, levels)
  const arrive = (name: string, options: { seats?: number; groups?: string[]; onLeave?(callback: () => void): void } = {}) =>
    flow.admit({
      info,
      user: { name, groups: options.groups ?? [], extra: {} },
      seats: options.seats ?? 1,
      nowMs: clock.monotonic(),
      onLeave: options.onLeave ?? (() => {}),
    })
  return { clock, flow, metrics, arrive }
}

const one = () => flowControl([schema('all', 'only')], [level('only')])

test('while seats are free nobody waits', () => {
  const { arrive, flow } = one()
  const seats = Array.from({ length: 10 }, () => arrive('jane'))
  assert.ok(seats.every((seat) => seat !== undefined && !(seat instanceof Promise)))
  assert.equal(flow.levels.get('only')?.seatsInUse, 10)
})

test('whoever finds no seat gets the first that is given up', async () => {
  const { arrive, clock } = one()
  const seats = Array.from({ length: 10 }, () => arrive('jane') as Seat)
  const waiting = arrive('john')
  assert.ok(waiting instanceof Promise)
  await clock.advance(250)
  seats[3]?.leave(clock.monotonic())
  const seat = await waiting
  assert.equal(seat.waitedMs, 250)
  assert.equal(seat.schema.name, 'all')
})

test('a seat is given up once, however often', () => {
  const { arrive, flow, clock } = one()
  const seat = arrive('jane') as Seat
  seat.leave(clock.monotonic())
  seat.leave(clock.monotonic())
  assert.equal(flow.levels.get('only')?.seatsInUse, 0)
})

test('whoever waits too long is sent away', async () => {
  const { arrive, clock, metrics } = one()
  for (let index = 0; index < 10; index++) arrive('jane')
  const refused = assert.rejects(arrive('john') as Promise<Seat>, TooManyRequests)
  await clock.advance({ seconds: 15 })
  await refused
  assert.equal(clock.pending, 0)
  assert.match(metrics.text(), /rejected_requests_total\{flow_schema="all",priority_level="only",reason="time-out"\} 1/)
})

test('a full queue sends away at once, and asks to stay away longer while that goes on', async () => {
  const { arrive, clock } = flowControl([schema('all', 'only')], [level('only', { queues: 1, handSize: 1, queueLengthLimit: 2 })])
  for (let index = 0; index < 10; index++) arrive('jane')
  const waiting = [arrive('jane'), arrive('jane')].map((promise) => (promise as Promise<Seat>).catch(() => undefined))
  const retryAfter = () => {
    try {
      void arrive('jane')
      return undefined
    } catch (error) {
      return (error as TooManyRequests).retryAfterSeconds
    }
  }
  assert.equal(retryAfter(), 1)
  for (let index = 0; index < 5; index++) retryAfter()
  await clock.advance({ seconds: 1 })
  assert.equal(retryAfter(), 2)
  await clock.advance({ seconds: 20 })
  await Promise.all(waiting)
})

test('a level without queues sends away whoever finds no seat', () => {
  const { arrive } = flowControl([schema('all', 'only')], [level('only', { rejects: true })])
  for (let index = 0; index < 10; index++) arrive('jane')
  assert.throws(() => arrive('jane'), TooManyRequests)
})

test('exempt requests never wait', () => {
  const { arrive, flow } = flowControl(
    [schema('masters', 'exempt'), schema('all', 'only', '*', 200)],
    [level('exempt', { exempt: true }), level('only')],
  )
  for (let index = 0; index < 1000; index++) assert.ok(!(arrive('admin') instanceof Promise))
  assert.equal(flow.levels.get('exempt')?.seatsInUse, 1000)
})

test('whoever goes away while waiting is forgotten', async () => {
  const { arrive, clock, flow } = one()
  const seats = Array.from({ length: 10 }, () => arrive('jane') as Seat)
  let leave = () => {}
  const onLeave = (callback: () => void) => {
    leave = callback
  }
  const gone = assert.rejects(arrive('john', { onLeave }) as Promise<Seat>)
  leave()
  await gone
  seats[0]?.leave(clock.monotonic())
  assert.equal(flow.levels.get('only')?.seatsInUse, 9)
  assert.equal(clock.pending, 0)
})

test('a wide request waits until all its seats are free, and is not overtaken for ever', async () => {
  const { arrive, clock } = one()
  const seats = Array.from({ length: 10 }, () => arrive('jane') as Seat)
  const order: string[] = []
  void (arrive('wide', { seats: 4 }) as Promise<Seat>).then(() => order.push('wide'))
  for (let index = 0; index < 4; index++) {
    seats[index]?.leave(clock.monotonic())
    await clock.advance(1)
  }
  assert.deepEqual(order, ['wide'])
})

test('a request wider than the level runs when it is alone', () => {
  const { arrive } = one()
  assert.ok(!(arrive('jane', { seats: 30 }) instanceof Promise))
})

test('the seats of the server are dealt out by shares, rounded up', () => {
  const shares = shareOut(
    [level('a', { shares: 30 }), level('b', { shares: 40, lendablePercent: 50, borrowingLimitPercent: 10 }), level('x', { exempt: true })],
    600,
  )
  assert.deepEqual(shares.get('a'), { nominal: 258, lendable: 0, borrowable: 600 })
  assert.deepEqual(shares.get('b'), { nominal: 343, lendable: 172, borrowable: 34 })
  assert.equal(shares.get('x')?.nominal, 0)
})

test('a busy level borrows what others lend and do not use, but never what is theirs alone', () => {
  const { arrive, flow } = flowControl(
    [schema('busy', 'a', 'busy'), schema('rest', 'b', '*', 200)],
    [level('a', { shares: 5 }), level('b', { shares: 5, lendablePercent: 40 })],
  )
  const admitted = Array.from({ length: 12 }, () => arrive('noisy', { groups: ['busy'] })).filter((seat) => !(seat instanceof Promise))
  assert.equal(admitted.length, 7)
  const others = Array.from({ length: 5 }, () => arrive('jane')).filter((seat) => !(seat instanceof Promise))
  assert.equal(others.length, 5, 'lenders get all their seats back at once')
  assert.equal(flow.levels.get('a')?.seatsInUse, 7)
})

test('a level that is changed keeps nobody waiting, and a schema that is changed decides anew', async () => {
  const { arrive, flow } = one()
  for (let index = 0; index < 10; index++) arrive('jane')
  const waiting = arrive('john') as Promise<Seat>
  flow.configure([schema('all', 'other')], [level('other')])
  assert.equal((await waiting).schema.level.name, 'only')
  assert.equal((arrive('jane') as Seat).schema.level.name, 'other')
})

test('a level that says the same as before keeps who sits there', () => {
  const { arrive, flow } = one()
  for (let index = 0; index < 10; index++) arrive('jane')
  flow.configure([schema('all', 'only')], [level('only')])
  assert.ok(arrive('jane') instanceof Promise)
})

test('what others do not change is not read again', () => {
  let reads = 0
  const { flow } = one()
  const schemas = Array.from({ length: 200 }, (_, index) => {
    const each = schema(`s${index}`, 'only')
    const { spec } = each
    return Object.defineProperty(each, 'spec', {
      get() {
        reads++
        return spec
      },
    })
  })
  const levels = [level('only')]
  flow.configure(schemas, levels)
  const before = flow.schemas
  reads = 0
  flow.configure([...schemas], [...levels])
  assert.deepEqual(flow.schemas, before)
  assert.ok(flow.schemas.every((each, index) => each === before[index]))
  assert.ok(reads <= 4 * schemas.length, `${reads}`)
})

test('paths that nobody else has are not remembered', () => {
  const { flow } = one()
  const user = { name: 'system:anonymous', groups: [], extra: {} }
  const kept = heapKeptBy(() => {
    for (const text of longTexts(50)) flow.schemaOf(requestInfo('GET', `/${text}`, new URLSearchParams()), user)
  })
  assert.ok(kept < 10 << 20, `${kept}`)
})

test('hands have no card twice, are always the same for a flow, and rarely the same for two', () => {
  const hands = new Set<string>()
  for (let flow = 0; flow < 1000; flow++) {
    const hand = dealHand(`flow ${flow}`, 128, 6)
    assert.equal(new Set(hand).size, 6)
    assert.ok(hand.every((card) => card >= 0 && card < 128))
    assert.deepEqual(dealHand(`flow ${flow}`, 128, 6), hand)
    hands.add(hand.toSorted((left, right) => left - right).join())
  }
  assert.ok(hands.size > 990)
  assert.deepEqual(dealHand('x', 3, 3).sort(), [0, 1, 2])
})

/** A client that sends `perSecond` requests a second, each of which takes `tookMs`, and what becomes of them. */
type Client = { name: string; perSecond: number; tookMs: number }
/** `doneInTime` leaves out what was still waiting when everybody stopped sending. */
type Outcome = { done: number; doneInTime: number; refused: number; waitsMs: number[] }

async function simulate(clients: Client[], options: { seats: number; seconds: number; random: Random }): Promise<Map<string, Outcome>> {
  const { clock, arrive } = flowControl([schema('all', 'only')], [level('only', { queues: 64, handSize: 6 })], options.seats)
  const outcomes = new Map(clients.map(({ name }) => [name, { done: 0, doneInTime: 0, refused: 0, waitsMs: [] as number[] }]))
  const send = async ({ name, tookMs }: Client) => {
    const outcome = outcomes.get(name) as Outcome
    try {
      const seat = (await arrive(name)) as Seat
      outcome.waitsMs.push(seat.waitedMs)
      await clock.sleep(tookMs * (0.5 + options.random.float()))
      seat.leave(clock.monotonic())
      outcome.done++
      if (clock.monotonic() < options.seconds * 1000) outcome.doneInTime++
    } catch {
      outcome.refused++
    }
  }
  for (const client of clients) {
    const periodMs = 1000 / client.perSecond
    for (let at = options.random.float() * periodMs; at < options.seconds * 1000; at += periodMs) clock.after(at, () => void send(client))
  }
  await clock.advance({ seconds: options.seconds + 30 })
  return outcomes
}

const percentile = (values: number[], share: number) =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? 0

for (const seed of [1, 2, 3]) {
  test(`one noisy client cannot starve the rest (seed ${seed})`, async () => {
    // 10 seats and 20 ms a request: 500 a second. One client wants 2,000, nine want 20 each.
    const quiet = Array.from({ length: 9 }, (_, index) => ({ name: `quiet ${index}`, perSecond: 20, tookMs: 20 }))
    const noisy = { name: 'noisy', perSecond: 2000, tookMs: 20 }
    const outcomes = await simulate([noisy, ...quiet], { seats: 10, seconds: 5, random: seededRandom(seed) })
    for (const { name } of quiet) {
      const { done, refused, waitsMs } = outcomes.get(name) as Outcome
      assert.equal(refused, 0, `${name}, seed ${seed}`)
      assert.ok(done >= 99, `${name} did ${done}, seed ${seed}`)
      assert.ok(percentile(waitsMs, 0.99) < 200, `${name} waited ${percentile(waitsMs, 0.99)} ms, seed ${seed}`)
    }
    const { done, refused } = outcomes.get('noisy') as Outcome
    assert.ok(refused > 1000, 'the noisy one is sent away')
    assert.ok(done > 1000, 'and still gets what the others leave')
  })
}

test('flows that take long get no more of the seats than flows that are quick', async () => {
  const clients = [
    { name: 'slow', perSecond: 200, tookMs: 200 },
    { name: 'quick', perSecond: 400, tookMs: 20 },
  ]
  const outcomes = await simulate(clients, { seats: 10, seconds: 5, random: seededRandom(7) })
  const worked = (name: string, tookMs: number) => (outcomes.get(name) as Outcome).doneInTime * tookMs
  const share = worked('quick', 20) / (worked('quick', 20) + worked('slow', 200))
  assert.ok(share > 0.35, `the quick one got ${share.toFixed(2)} of the seats`)
})
