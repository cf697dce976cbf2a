import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { ImageGarbage } from '#kubelet/images/image-garbage.ts'

function bench({ availableBytes, maxAgeMs = 0 }: { availableBytes: number; maxAgeMs?: number }) {
  const clock = new VirtualClock()
  const images = new Map(
    ['old', 'young', 'used', 'pinned'].map((id) => [id, { id, names: [id], sizeBytes: 100, isPinned: id === 'pinned' }]),
  )
  const disk = { availableBytes }
  const warnings: string[] = []
  const used = new Set(['used', 'young'])
  const garbage = new ImageGarbage({
    ...{ clock, logger: silentLogger, highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs },
    images: {
      list: async () => [...images.values()],
      inUse: async () => used,
      async remove(id) {
        images.delete(id)
        disk.availableBytes += 100
      },
    },
    fileSystem: async () => ({
      capacityBytes: 1000,
      availableBytes: disk.availableBytes,
      usedBytes: 0,
      inodes: 1,
      inodesFree: 1,
      inodesUsed: 0,
    }),
    warn: (reason) => warnings.push(reason),
  })
  return { clock, garbage, images, used, warnings }
}

test('nothing goes while there is room', async () => {
  const { clock, images } = bench({ availableBytes: 200 })
  await clock.advance(3_600_000)
  assert.equal(images.size, 4)
})

test('the longest unused goes first, until there is room enough; used and pinned ones stay', async () => {
  const { clock, garbage, images, used } = bench({ availableBytes: 110 })
  await garbage.collect()
  assert.equal(images.size, 4, 'too young')
  used.delete('young')
  await clock.advance(300_500)
  assert.deepEqual([...images.keys()], ['young', 'used', 'pinned'])
})

test('too little that may go is told of', async () => {
  const { clock, warnings } = bench({ availableBytes: 10 })
  await clock.advance(600_500)
  assert.ok(warnings.includes('FreeDiskSpaceFailed'))
})

test('unused for too long, they go though there is room', async () => {
  const { clock, images } = bench({ availableBytes: 900, maxAgeMs: 3_600_000 })
  await clock.advance(2 * 3_600_000)
  assert.deepEqual([...images.keys()], ['young', 'used', 'pinned'])
})
