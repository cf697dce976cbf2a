import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { IndexSet } from '#controllers/job/index-set.ts'
import { metSuccessRule } from '#controllers/job/success-policy.ts'

test('a set says the same as one that holds each index', () => {
  const random = seededRandom(7)
  for (let round = 0; round < 300; round++) {
    const draw = () => Array.from({ length: random.int(12) }, () => random.int(20))
    const [some, others, more] = [draw(), draw(), draw()]
    const [plain, plainOthers] = [new Set([...some, ...more]), new Set(others)]
    const set = IndexSet.of(some).with(more)
    assert.equal(set.size, plain.size)
    assert.deepEqual(
      Array.from({ length: 22 }, (_, index) => set.has(index)),
      Array.from({ length: 22 }, (_, index) => plain.has(index)),
    )
    assert.equal(set.countIn(IndexSet.of(others)), [...plain].filter((index) => plainOthers.has(index)).length)
    const again = IndexSet.parse(set.toString(), 20)
    assert.equal(again.toString(), set.toString())
    assert.equal(again.countIn(set), plain.size)
  }
})

test('sets are written as statuses have them; what cannot be read is left out', () => {
  assert.equal(IndexSet.of([7, 3, 4, 1, 5]).toString(), '1,3-5,7')
  assert.equal(IndexSet.of([1, 2, 9]).toString(), '1,2,9')
  assert.equal(IndexSet.parse('x,5-3,1-,2,8-20,9', 10).toString(), '2,8,9')
  assert.equal(IndexSet.parse(undefined, 10).size, 0)
})

test('all indexes that there can be are one interval', () => {
  const most = 2 ** 31 - 1
  const all = IndexSet.parse('0-2147483646', most)
  assert.equal(all.size, most)
  assert.equal(all.lastInRow(5), most - 1)
  assert.equal(IndexSet.of([1, 4]).countIn(all), 2)
  const policy = { rules: [{ succeededIndexes: '0-2147483646' }] }
  assert.equal(metSuccessRule(policy, IndexSet.of([3]), most), undefined)
  assert.equal(metSuccessRule(policy, all, most), 'Matched rules at index 0')
})
