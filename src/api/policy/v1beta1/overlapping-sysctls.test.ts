import assert from 'node:assert/strict'
import { test } from 'node:test'
import { overlappingSysctls } from '#api/policy/v1beta1/overlapping-sysctls.ts'
import { seededRandom } from '#base/random.ts'

/** Whether all that `part` stands for, `whole` stands for as well. */
const covers = (whole: string, part: string): boolean =>
  whole.endsWith('*') ? part.replace(/\*$/, '').startsWith(whole.slice(0, -1)) : whole === part

test('what overlaps is what a comparison of all pairs finds', () => {
  const seed = 3
  const random = seededRandom(seed)
  const pattern = () => Array.from({ length: random.int(5) }, () => 'ab.*'[random.int(4)]).join('')
  for (let round = 0; round < 500; round++) {
    const [patterns, others] = [Array.from({ length: random.int(8) }, pattern), Array.from({ length: random.int(12) }, pattern)]
    const overlapping = overlappingSysctls(patterns, others)
    for (const each of patterns) {
      const expected = [...others.keys()].filter((index) => covers(others[index] ?? '', each) || covers(each, others[index] ?? ''))
      assert.deepEqual(overlapping(each), expected, `seed ${seed}, round ${round}: ${each} of ${others.join(' ')}`)
    }
  }
})

test('patterns that cover each other in many levels are found one by one', () => {
  const others = Array.from({ length: 1000 }, (_, index) => `${'a'.repeat(index)}*`)
  const overlapping = overlappingSysctls(['ab', 'aaa', 'b*'], others)
  assert.deepEqual(overlapping('ab'), [0, 1])
  assert.deepEqual(overlapping('aaa'), [0, 1, 2, 3])
  assert.deepEqual(overlapping('b*'), [0])
})
