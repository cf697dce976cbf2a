import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLabelSelector } from '#api/meta/selector.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { PushedMetrics } from '#metrics-server/adapter/pushed-metrics.ts'

const everything = parseLabelSelector('')
const sample = { milli: 1000, timeMs: 0 }
const requests = { group: '', resource: 'pods', metric: 'requests', isNamespaced: true }

test('what was pushed is forgotten five minutes later, and with the last of a metric its name', async () => {
  const clock = new VirtualClock()
  const pushed = new PushedMetrics(clock)
  const external = async () => (await pushed.externalValues({ metric: 'queue', namespace: 'default', selector: everything })).length
  pushed.push(requests, { namespace: 'default', name: 'web' }, sample, {})
  pushed.pushExternal({ namespace: 'default', metric: 'queue' }, sample, { name: 'one' })
  await clock.advance({ minutes: 3 })
  pushed.pushExternal({ namespace: 'default', metric: 'queue' }, sample, { name: 'one' })
  pushed.pushExternal({ namespace: 'default', metric: 'queue' }, sample, { name: 'two' })
  assert.equal(await external(), 2)
  const values = () => pushed.values({ ...requests, namespace: 'default', names: ['web'], selector: everything })
  assert.equal((await values()).get('web')?.milli, 1000)
  await clock.advance({ minutes: 3 })
  assert.deepEqual(await pushed.customMetrics(), [])
  assert.equal((await values()).size, 0)
  assert.deepEqual(await pushed.externalMetrics(), ['queue'])
  assert.equal(await external(), 2)
  await clock.advance({ minutes: 3 })
  assert.deepEqual(await pushed.externalMetrics(), [])
})

test('a hundred thousand have room, if they are short, and room comes back', async () => {
  const clock = new VirtualClock()
  const pushed = new PushedMetrics(clock)
  const push = (name: string) => pushed.pushExternal({ namespace: 'default', metric: 'queue' }, sample, { name })
  for (let count = 0; count < 100_000; count++) push(`n${count}`)
  assert.throws(() => push('another'), /there are 100000 pushed metrics already/)
  assert.throws(() => pushed.pushExternal({ namespace: 'default', metric: 'other' }, sample, {}), /already/)
  push('n7')
  assert.deepEqual(await pushed.externalMetrics(), ['queue'])
  await clock.advance({ minutes: 6 })
  const long = 'x'.repeat(60_000)
  assert.throws(() => {
    for (let count = 0; count < 1000; count++) push(`${long}${count}`)
  }, /have no more room/)
  await clock.advance({ minutes: 6 })
  push(long)
})
