import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SyncLoop } from '#base/sync-loop.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

function aLoop(run: (isDue: boolean) => Promise<void> = async () => {}) {
  const clock = new VirtualClock()
  const runs: number[] = []
  const failures: number[] = []
  const loop = new SyncLoop({
    ...{ clock, minMs: 1000, maxMs: 30_000 },
    async run(isDue) {
      runs.push(clock.monotonic())
      await run(isDue)
    },
    onFailure: (_, retryMs) => failures.push(retryMs),
  })
  return { clock, loop, runs, failures }
}

test('the first request runs at once, those that follow together a second later', async () => {
  const { clock, loop, runs } = aLoop()
  loop.request()
  await clock.advance(10)
  for (let round = 0; round < 5; round++) loop.request()
  await clock.advance(5000)
  assert.deepEqual(runs, [0, 1000])
  loop.request()
  await clock.advance(0)
  assert.deepEqual(runs, [0, 1000, 5010], 'after a quiet while at once')
  await loop.stop()
})

test('nobody asks for long: it runs all the same, and is told so', async () => {
  const due: boolean[] = []
  const { clock, loop, runs } = aLoop(async (isDue) => void due.push(isDue))
  loop.request()
  await clock.advance(61_000)
  assert.deepEqual(runs, [0, 30_000, 60_000])
  assert.deepEqual(due, [false, true, true])
  await loop.stop()
  assert.equal(clock.pending, 0)
})

test('what is asked for during a run is done after it, never beside it', async () => {
  let active = 0
  const { clock, loop, runs } = aLoop(async () => {
    assert.equal(++active, 1)
    loop.request()
    await clock.sleep(2500)
    active--
    if (runs.length === 3) void loop.stop()
  })
  loop.request()
  await clock.advance(20_000)
  assert.deepEqual(runs, [0, 2500, 5000])
})

test('a run that fails is repeated, later each time', async () => {
  const { clock, loop, runs, failures } = aLoop(async () => {
    if (runs.length < 5) throw new Error('no')
  })
  loop.request()
  await clock.advance(20_000)
  assert.deepEqual(runs, [0, 1000, 2000, 3600, 6800])
  assert.deepEqual(failures, [1000, 1000, 1600, 3200])
  await loop.stop()
})
