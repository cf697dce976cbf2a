import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameSuffix, seededRandom, systemRandom } from '#base/random.ts'

test('one seed gives one sequence', () => {
  const draw = (seed: number) => {
    const random = seededRandom(seed)
    return [random.float(), random.int(10), random.uuid(), Buffer.from(random.bytes(4)).toString('hex'), nameSuffix(random)]
  }
  assert.deepEqual(draw(7), draw(7))
  assert.notDeepEqual(draw(7), draw(8))
})

test('whole numbers stay below their bound and reach every value', () => {
  const random = seededRandom(1)
  const seen = new Set(Array.from({ length: 1000 }, () => random.int(7)))
  assert.deepEqual([...seen].sort(), [0, 1, 2, 3, 4, 5, 6])
})

for (const [name, random] of [
  ['system', systemRandom],
  ['seeded', seededRandom(3)],
] as const) {
  test(`a uuid of the ${name} source is of version 4`, () => {
    assert.match(random.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })
}

test('a name suffix has no vowels', () => {
  assert.match(nameSuffix(systemRandom, 50), /^[bcdfghjklmnpqrstvwxz2456789]{50}$/)
})
