import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lifecycle, runUntilSignal, type Stage } from '#base/lifecycle.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

function setUp() {
  const clock = new VirtualClock()
  const records: LogRecord[] = []
  const lifecycle = new Lifecycle({ clock, logger: recordingLogger(records), drainMs: 5000, stopMs: 3000 })
  const calls: string[] = []
  const begin = (name: string, overrides: { start?(stage: Stage): Promise<void>; stop?(): Promise<void> } = {}) =>
    lifecycle.stage(name, async (stage) => {
      stage.onDrain(async () => void calls.push(`drain ${name}`))
      stage.defer(overrides.stop ?? (() => calls.push(`stop ${name}`)))
      await overrides.start?.(stage)
      calls.push(`start ${name}`)
      return name
    })
  return { clock, lifecycle, calls, records, begin }
}

test('a stage returns what the next takes; they stop in the opposite order, after all have drained', async () => {
  const { lifecycle, calls, begin } = setUp()
  const store = await begin('store')
  assert.equal(store, 'store')
  await begin('server')
  await Promise.all([lifecycle.stop(), lifecycle.stop()])
  assert.deepEqual(calls, ['start store', 'start server', 'drain server', 'drain store', 'stop server', 'stop store'])
})

test('what a stage has taken is released last first', async () => {
  const { lifecycle, calls } = setUp()
  await lifecycle.stage('server', (stage) => {
    stage.use({ [Symbol.dispose]: () => void calls.push('store') })
    stage.use({ [Symbol.asyncDispose]: async () => void calls.push('listener') })
  })
  await lifecycle.stop()
  assert.deepEqual(calls, ['listener', 'store'])
})

test('a stage that fails half-way is taken down with those before it, and its error is told', async () => {
  const { lifecycle, calls, begin } = setUp()
  const run = runUntilSignal(lifecycle, { onStop: () => ({ [Symbol.dispose]() {} }) }, async () => {
    await begin('store')
    await begin('server', { start: () => Promise.reject(new Error('port in use')) })
  })
  await assert.rejects(run, /port in use/)
  assert.deepEqual(calls, ['start store', 'drain server', 'drain store', 'stop server', 'stop store'])
})

test('a stage that hangs while stopping does not hold up the others for ever', async () => {
  const { clock, lifecycle, calls, records, begin } = setUp()
  await begin('store')
  await begin('server', { stop: () => new Promise(() => {}) })
  const stopped = lifecycle.stop()
  await clock.advance(8000)
  await stopped
  assert.equal(calls.at(-1), 'stop store')
  assert.ok(records.some(({ fields }) => fields['what'] === 'stop server'))
})

test('a stage that throws while stopping is logged, and the rest stops', async () => {
  const { lifecycle, calls, records, begin } = setUp()
  await begin('store')
  await begin('server', { stop: () => Promise.reject(new Error('oh')) })
  await lifecycle.stop()
  assert.equal(calls.at(-1), 'stop store')
  assert.ok(records.some(({ level, fields }) => level === 'error' && fields['stage'] === 'server'))
})

test('a signal while starting stops what has started', async () => {
  let send: (signal: string) => void = () => {}
  const { lifecycle, calls, begin } = setUp()
  const signals = {
    onStop(callback: (signal: string) => void) {
      send = callback
      return { [Symbol.dispose]() {} }
    },
  }
  const run = runUntilSignal(lifecycle, signals, async () => {
    await begin('store', { start: async () => send('SIGTERM') })
    await begin('server')
  })
  await assert.rejects(run, /the program is ending/)
  assert.deepEqual(calls, ['start store', 'drain store', 'stop store'])
})

test('an error that nobody waits for is logged once the program is asked to stop, and not before', async () => {
  let send: (signal: string) => void = () => {}
  const stray: ((error: unknown) => void)[] = []
  const { lifecycle, calls, records, begin } = setUp()
  const signals = {
    onStop(callback: (signal: string) => void) {
      send = callback
      return { [Symbol.dispose]() {} }
    },
    onStrayError(callback: (error: unknown) => void) {
      stray.push(callback)
    },
  }
  const started = Promise.withResolvers<void>()
  const run = runUntilSignal(lifecycle, signals, async () => {
    await begin('store')
    started.resolve()
  })
  await started.promise
  assert.equal(stray.length, 0)
  send('SIGINT')
  stray.at(0)?.(new Error('the connection is gone'))
  await run
  assert.equal(calls.at(-1), 'stop store')
  assert.ok(records.some(({ level, fields }) => level === 'error' && String(fields['error']).includes('the connection is gone')))
})

test('a stage that was given up on while it started releases what it makes afterwards', async () => {
  const { clock, lifecycle, calls } = setUp()
  const late = Promise.withResolvers<void>()
  const started = lifecycle.stage('server', async (stage) => {
    await late.promise
    stage.defer(() => calls.push('stop server'))
  })
  started.catch(() => {})
  const stopped = lifecycle.stop()
  await clock.advance(3000)
  await stopped
  assert.deepEqual(calls, [])
  late.resolve()
  await assert.rejects(started, /the program is ending/)
  assert.deepEqual(calls, ['stop server'])
})
