import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

test('timers fire in order of their due time, those due together in the order they were set', async () => {
  const clock = new VirtualClock()
  const fired: string[] = []
  clock.after(20, () => fired.push('b'))
  clock.after(10, () => fired.push('a'))
  clock.after(20, () => fired.push('c'))
  await clock.advance(20)
  assert.deepEqual(fired, ['a', 'b', 'c'])
})

test('the time a callback sees is the time it was due', async () => {
  const clock = new VirtualClock('2026-01-01T00:00:00Z')
  const seen: string[] = []
  clock.every(60_000, () => seen.push(new Date(clock.now()).toISOString()))
  await clock.advance({ minutes: 2, seconds: 30 })
  assert.deepEqual(seen, ['2026-01-01T00:01:00.000Z', '2026-01-01T00:02:00.000Z'])
  assert.equal(clock.monotonic(), 150_000)
})

test('promises settle between two timers', async () => {
  const clock = new VirtualClock()
  const order: string[] = []
  clock.after(1, () => {
    void Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => order.push('promise of the first'))
  })
  clock.after(2, () => order.push('second'))
  await clock.advance(2)
  assert.deepEqual(order, ['promise of the first', 'second'])
})

test('a timer set by a timer fires within the same advance when it falls due', async () => {
  const clock = new VirtualClock()
  let count = 0
  const again = () => {
    count++
    clock.after(10, again)
  }
  again()
  await clock.advance(100)
  assert.equal(count, 11)
})

test('a cancelled timer does not fire and is not pending', async () => {
  const clock = new VirtualClock()
  const timer = clock.after(5, () => assert.fail('it was cancelled'))
  const repeating = clock.every(5, () => assert.fail('it was cancelled'))
  timer.cancel()
  repeating.cancel()
  repeating.cancel()
  assert.equal(clock.pending, 0)
  await clock.advance(50)
})

test('sleep resolves when its time has come and rejects when its signal aborts', async () => {
  const clock = new VirtualClock()
  const controller = new AbortController()
  const outcomes: string[] = []
  void clock.sleep(10).then(() => outcomes.push('slept'))
  void clock.sleep(30, controller.signal).catch((reason) => outcomes.push(String(reason)))
  await clock.advance(10)
  controller.abort('enough')
  await clock.settle()
  assert.deepEqual(outcomes, ['slept', 'enough'])
  assert.equal(clock.pending, 0)
})

test('advanceUntil stops at the timer that makes the condition hold, and says when none can', async () => {
  const clock = new VirtualClock()
  let done = false
  clock.after(500, () => {
    done = true
  })
  clock.after(900, () => assert.fail('too far'))
  await clock.advanceUntil(() => done)
  assert.equal(clock.monotonic(), 500)
  await assert.rejects(
    new VirtualClock().advanceUntil(() => false),
    /no timer is left/,
  )
  const idle = new VirtualClock()
  idle.every(1000, () => {})
  await assert.rejects(
    idle.advanceUntil(() => false, 5000),
    /did not hold within 5000 ms/,
  )
})

/** Workers that sleep random times, talk through promises and start each other. */
async function trace(seed: number): Promise<string[]> {
  const clock = new VirtualClock()
  const random = seededRandom(seed)
  const lines: string[] = []
  const worker = async (name: string, depth: number): Promise<void> => {
    for (let step = 0; step < 5; step++) {
      await clock.sleep(random.int(1000))
      lines.push(`${clock.now()} ${name} ${step} ${random.uuid()}`)
      if (depth < 2 && random.float() < 0.4) void worker(`${name}.${step}`, depth + 1)
      else clock.soon(() => lines.push(`${name} soon`))
    }
  }
  for (let index = 0; index < 20; index++) void worker(`w${index}`, 0)
  await clock.advance({ minutes: 10 })
  assert.equal(clock.pending, 0)
  return lines
}

test('two runs with one seed give the same trace, another seed gives another', async () => {
  const first = await trace(42)
  assert.deepEqual(await trace(42), first)
  assert.notDeepEqual(await trace(43), first)
  assert.ok(first.length > 100)
})

test('time passes while work waits for what knows nothing of it, and its failure is handed on', async () => {
  const clock = new VirtualClock()
  const startMs = clock.now()
  const work = clock.sleep(50).then(() => new Promise<string>((resolve) => setImmediate(resolve, 'done')))
  assert.equal(await clock.during(work), 'done')
  assert.ok(clock.now() >= startMs + 50)
  await assert.rejects(clock.during(clock.sleep(1).then(() => Promise.reject(new Error('no')))), /no/)
})
