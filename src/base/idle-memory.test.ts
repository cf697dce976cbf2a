import assert from 'node:assert/strict'
import { test } from 'node:test'
import { giveBackIdleMemory, type ProcessMemory } from '#base/idle-memory.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const mebibyte = 1 << 20

function setUp() {
  const clock = new VirtualClock()
  const state = {
    busyMs: 0,
    residentBytes: 300 * mebibyte,
    heapBytes: 50 * mebibyte,
    isAsked: false,
    collections: 0,
    partial: 0,
    liveBytes: -1,
  }
  const memory: ProcessMemory = {
    busyMs: () => state.busyMs,
    residentBytes: () => state.residentBytes,
    heapBytes: () => state.heapBytes,
    askedMs: () => (state.isAsked ? clock.monotonic() - 500 : Number.NEGATIVE_INFINITY),
    giveBack() {
      state.collections++
      state.busyMs += 800
      if (state.liveBytes >= 0) state.heapBytes = state.liveBytes
      state.residentBytes = state.heapBytes + 50 * mebibyte
    },
    collectInParts() {
      state.partial++
      state.busyMs += 800
      if (state.liveBytes >= 0) state.heapBytes = state.liveBytes
    },
  }
  const timer = giveBackIdleMemory(clock, memory)
  return { clock, state, timer }
}

test('memory is given back once nobody has asked for anything for a while', async () => {
  const { clock, state, timer } = setUp()
  state.isAsked = true
  await clock.advance({ minutes: 10 })
  assert.equal(state.collections, 0)
  state.isAsked = false
  await clock.advance({ seconds: 5 })
  assert.equal(state.collections, 1)
  timer.cancel()
})

test('memory is not given back while the process is busy, and not again when there is nothing to gain', async () => {
  const { clock, state, timer } = setUp()
  for (let check = 0; check < 10; check++) {
    state.busyMs += 1000
    await clock.advance({ seconds: 5 })
  }
  assert.equal(state.collections, 0)
  await clock.advance({ minutes: 20 })
  assert.ok(state.collections <= 5, `${state.collections} collections in case work had left something behind that was let go of later`)
  const { collections } = state
  await clock.advance({ hours: 5 })
  assert.equal(state.collections, collections)
  timer.cancel()
})

test('after a time with much that was alive memory is given back again', async () => {
  const { clock, state, timer } = setUp()
  state.heapBytes = 200 * mebibyte
  await clock.advance({ seconds: 5 })
  assert.equal(state.collections, 1, 'nobody knows yet how much is alive')
  state.residentBytes = 500 * mebibyte
  await clock.advance({ minutes: 10 })
  assert.equal(state.collections, 1, 'too much is alive')
  state.heapBytes = 60 * mebibyte
  await clock.advance({ seconds: 5 })
  assert.equal(state.collections, 2, 'V8 has collected by itself')
  timer.cancel()
})

test('what a burst left alive is given back once it is gone, and less and less often tried while it is not', async () => {
  for (const burstBytes of [100 * mebibyte, 200 * mebibyte]) {
    const { clock, state, timer } = setUp()
    await clock.advance({ seconds: 5 })
    assert.equal(state.collections, 1)
    state.heapBytes = burstBytes
    state.residentBytes = 500 * mebibyte
    await clock.advance({ minutes: 4 })
    assert.equal(state.collections, 2)
    assert.equal(state.residentBytes, burstBytes + 50 * mebibyte)
    await clock.advance({ minutes: 11 })
    assert.equal(state.collections, 6, 'tried every two or three minutes')
    await clock.advance({ hours: 1 })
    assert.ok(state.collections <= 12, `nothing was gained by ${state.collections} collections`)
    timer.cancel()
  }
})

test('what a burst left alive for six minutes is given back within three more', async () => {
  for (const lateSeconds of [0, 40, 80, 120]) {
    const { clock, state, timer } = setUp()
    await clock.advance({ seconds: 5 + lateSeconds })
    state.heapBytes = 200 * mebibyte
    state.residentBytes = 500 * mebibyte
    await clock.advance({ minutes: 6 })
    state.heapBytes = 50 * mebibyte
    await clock.advance({ minutes: 3 })
    assert.equal(state.residentBytes, 100 * mebibyte)
    const { collections } = state
    await clock.advance({ hours: 5 })
    assert.equal(state.collections, collections)
    timer.cancel()
  }
})

test('what work right after the start left alive for six minutes is given back within two more, though nobody knows of less', async () => {
  for (const burstBytes of [100 * mebibyte, 130 * mebibyte, 300 * mebibyte]) {
    const { clock, state, timer } = setUp()
    for (let check = 0; check < 4; check++) {
      state.busyMs += 1000
      await clock.advance({ seconds: 5 })
    }
    state.heapBytes = burstBytes
    state.liveBytes = burstBytes
    state.residentBytes = 600 * mebibyte
    await clock.advance({ minutes: 6 })
    assert.equal(state.residentBytes, burstBytes + 50 * mebibyte)
    // Nothing is collected by itself where nothing is done.
    state.liveBytes = 40 * mebibyte
    await clock.advance({ minutes: 2 })
    assert.equal(state.residentBytes, 90 * mebibyte)
    await clock.advance({ minutes: 20 })
    const { collections, partial } = state
    await clock.advance({ hours: 5 })
    assert.equal(state.collections + state.partial, collections + partial, 'whoever does nothing is left alone')
    timer.cancel()
  }
})

test('what is huge is left alone, apart from a few collections in parts after work', async () => {
  const { clock, state, timer } = setUp()
  await clock.advance({ seconds: 5 })
  state.busyMs += 1000
  state.heapBytes = 400 * mebibyte
  state.residentBytes = 700 * mebibyte
  await clock.advance({ hours: 5 })
  assert.equal(state.collections, 2)
  assert.ok(state.partial >= 2 && state.partial <= 5, `${state.partial} collections in parts`)
  timer.cancel()
})

test('what is huge and was not worked upon is left alone', async () => {
  const { clock, state, timer } = setUp()
  await clock.advance({ seconds: 5 })
  state.heapBytes = 400 * mebibyte
  state.residentBytes = 700 * mebibyte
  await clock.advance({ hours: 5 })
  assert.equal(state.collections, 2)
  timer.cancel()
})
