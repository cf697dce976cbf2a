import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { throttledImages } from '#kubelet/images/throttled-images.ts'

const images = { find: async () => undefined, pull: async (image: string) => image }

test('pulls beyond the burst fail at once, until their time has come', async () => {
  const clock = new VirtualClock()
  const throttled = throttledImages(images, { qps: 2, burst: 3 }, clock)
  for (const image of ['a', 'b', 'c']) assert.equal(await throttled.pull(image, undefined), image)
  await assert.rejects(throttled.pull('d', undefined), { message: 'pull QPS exceeded' })
  await clock.advance({ seconds: 0.5 })
  assert.equal(await throttled.pull('d', undefined), 'd')
  await assert.rejects(throttled.pull('e', undefined))
  assert.equal(throttledImages(images, { qps: 0, burst: 0 }, clock), images, 'no limit')
})
