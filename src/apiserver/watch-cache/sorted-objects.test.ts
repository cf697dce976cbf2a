import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { SortedObjects } from '#apiserver/watch-cache/sorted-objects.ts'
import { seededRandom } from '#base/random.ts'

const nothing = Buffer.from('{"metadata":{}}')

test('[WC9] objects stay in order of name through thousands of changes, whether names come in order or not', () => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = seededRandom(seed)
    const objects = new SortedObjects()
    const model = new Map<string, CachedObject>()
    for (let step = 0; step < 6000; step++) {
      const number = seed % 2 === 0 ? step : random.int(4000)
      const name = `n${String(number).padStart(5, '0')}`
      if (random.float() < 0.7) {
        const object = new CachedObject(name, '', name, step + 1, nothing)
        objects.set(object)
        model.set(name, object)
      } else {
        const gone = seed % 2 === 0 ? `n${String(random.int(step + 1)).padStart(5, '0')}` : name
        objects.delete(gone)
        model.delete(gone)
      }
      assert.equal(objects.length, model.size, `seed ${seed}, step ${step}`)
    }
    const sorted = [...model.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
    assert.deepEqual(
      objects.toArray().map(({ name, revision }) => [name, revision]),
      sorted.map(({ name, revision }) => [name, revision]),
      `seed ${seed}`,
    )
  }
})
