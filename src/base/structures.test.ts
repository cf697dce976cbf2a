import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Heap } from '#base/heap.ts'
import { seededRandom } from '#base/random.ts'
import { RingBuffer } from '#base/ring-buffer.ts'

test('a heap gives back what was put in, smallest first', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seededRandom(seed)
    const numbers = Array.from({ length: random.int(200) }, () => random.int(50))
    const heap = new Heap<number>((left, right) => left - right)
    for (const number of numbers) heap.push(number)
    const sorted: number[] = []
    while (heap.size > 0) sorted.push(heap.pop() as number)
    assert.deepEqual(
      sorted,
      numbers.toSorted((left, right) => left - right),
      `seed ${seed}`,
    )
    assert.equal(heap.pop(), undefined)
  }
})

test('a ring buffer behaves as a list that forgets its oldest items', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seededRandom(seed)
    const ring = new RingBuffer<number>(1 + random.int(8))
    const model: number[] = []
    for (let step = 0; step < 200; step++) {
      const choice = random.int(10)
      if (choice < 7) {
        const dropped = model.length === ring.capacity ? model.shift() : undefined
        model.push(step)
        assert.equal(ring.push(step), dropped, `seed ${seed}`)
      } else if (choice < 9) assert.equal(ring.shift(), model.shift(), `seed ${seed}`)
      else {
        const capacity = 1 + random.int(12)
        ring.resize(capacity)
        while (model.length > capacity) model.shift()
      }
      assert.deepEqual(
        Array.from({ length: ring.length }, (_, index) => ring.at(index)),
        model,
        `seed ${seed}`,
      )
    }
    assert.equal(ring.at(-1), undefined)
    assert.equal(ring.at(ring.length), undefined)
  }
})
