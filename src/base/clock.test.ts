import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleepOn, systemClock, timerOf } from '#base/clock.ts'

test('the system clock tells one time in milliseconds and in microseconds', () => {
  const before = systemClock.now()
  const micros = systemClock.nowMicros()
  const after = systemClock.now()
  assert.ok(Number.isInteger(before) && Number.isInteger(micros))
  // Its two sources may differ by a few milliseconds.
  assert.ok(micros / 1000 > before - 20 && micros / 1000 < after + 20, `${before} ${micros} ${after}`)
})

test('soon runs after settled promises', async () => {
  const order: string[] = []
  await new Promise<void>((resolve) => {
    systemClock.soon(() => {
      order.push('soon')
      resolve()
    })
    void Promise.resolve().then(() => order.push('promise'))
  })
  assert.deepEqual(order, ['promise', 'soon'])
})

test('a sleep that is aborted before it begins rejects at once and sets no timer', async () => {
  const after = () => assert.fail('no timer is needed')
  await assert.rejects(sleepOn({ after }, 10, AbortSignal.abort(new Error('no'))), /no/)
})

test('a delay beyond what Node can count does not fire at once', () => {
  const timer = systemClock.after(2 ** 40, () => assert.fail('far too early'))
  timer.cancel()
})

test('a period beyond what Node can count does not fire at once, and again and again', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error) => void warnings.push(name)
  process.on('warning', onWarning)
  const timer = systemClock.every(2 ** 40, () => assert.fail('far too early'))
  await new Promise((resolve) => setImmediate(resolve))
  timer.cancel()
  process.off('warning', onWarning)
  assert.deepEqual(warnings, [])
})

test('a timer can be disposed of', () => {
  let cancelled = false
  {
    using _timer = timerOf(() => {
      cancelled = true
    })
  }
  assert.ok(cancelled)
})
