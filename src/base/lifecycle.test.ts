import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Component, Lifecycle, runUntilSignal } from '#base/lifecycle.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

function setUp(names: string[], overrides: Record<string, Partial<Component>> = {}) {
  const clock = new VirtualClock()
  const records: LogRecord[] = []
  const lifecycle = new Lifecycle({ clock, logger: recordingLogger(records), drainMs: 5000, stopMs: 3000 })
  const calls: string[] = []
  for (const name of names) {
    lifecycle.add({
      name,
      start: async () => void calls.push(`start ${name}`),
      drain: async () => void calls.push(`drain ${name}`),
      stop: async () => void calls.push(`stop ${name}`),
      ...overrides[name],
    })
  }
  return { clock, lifecycle, calls, records }
}

test('components start in order and stop in the opposite one, after all have drained', async () => {
  const { lifecycle, calls } = setUp(['store', 'server'])
  await lifecycle.start()
  assert.equal(lifecycle.state, 'ready')
  await Promise.all([lifecycle.stop(), lifecycle.stop()])
  assert.deepEqual(calls, ['start store', 'start server', 'drain server', 'drain store', 'stop server', 'stop store'])
  assert.equal(lifecycle.state, 'stopped')
})

test('a component that fails to start takes down those before it, and its error is told', async () => {
  const { lifecycle, calls } = setUp(['store', 'server', 'scheduler'], {
    server: { start: () => Promise.reject(new Error('port in use')) },
  })
  await assert.rejects(lifecycle.start(), /port in use/)
  assert.deepEqual(calls, ['start store', 'drain server', 'drain store', 'stop server', 'stop store'])
})

test('a component that hangs while stopping does not hold up the others for ever', async () => {
  const { clock, lifecycle, calls, records } = setUp(['store', 'server'], { server: { stop: () => new Promise(() => {}) } })
  await lifecycle.start()
  const stopped = lifecycle.stop()
  await clock.advance(8000)
  await stopped
  assert.equal(calls.at(-1), 'stop store')
  assert.ok(records.some(({ fields }) => fields['what'] === 'stop server'))
})

test('a component that throws while stopping is logged, and the rest stops', async () => {
  const { lifecycle, calls, records } = setUp(['store', 'server'], { server: { stop: () => Promise.reject(new Error('oh')) } })
  await lifecycle.start()
  await lifecycle.stop()
  assert.equal(calls.at(-1), 'stop store')
  assert.ok(records.some(({ level, fields }) => level === 'error' && fields['component'] === 'server'))
})

test('a signal while starting stops what has started', async () => {
  let send: (signal: string) => void = () => {}
  const { lifecycle, calls } = setUp(['store', 'server'], {
    store: {
      start: async () => {
        calls.push('start store')
        send('SIGTERM')
      },
    },
  })
  const signals = {
    onStop(callback: (signal: string) => void) {
      send = callback
      return { [Symbol.dispose]() {} }
    },
  }
  await assert.rejects(
    runUntilSignal(lifecycle, signals, () => assert.fail('it never got ready')),
    /the program is ending/,
  )
  assert.deepEqual(calls, ['start store', 'drain store', 'stop store'])
})
