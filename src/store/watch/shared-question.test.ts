import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { SharedQuestion } from '#store/watch/shared-question.ts'

function asked() {
  const clock = new VirtualClock()
  const put: PromiseWithResolvers<number>[] = []
  const question = new SharedQuestion(clock, () => {
    const one = Promise.withResolvers<number>()
    put.push(one)
    return one.promise
  })
  return { clock, put, question }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a question that many share', () => {
  test('whoever asks while one is under way is answered by the next, which all of them share', async () => {
    const { put, question } = asked()
    const first = question.ask()
    const later = [question.ask(), question.ask(), question.ask()]
    assert.equal(put.length, 1)
    put[0]?.resolve(1)
    assert.equal(await first, 1)
    await settled()
    assert.equal(put.length, 2)
    put[1]?.resolve(2)
    assert.deepEqual(await Promise.all(later), [2, 2, 2])
    void question.ask()
    assert.equal(put.length, 3, 'nothing is under way: it is put at once')
  })

  test('one that is not answered keeps nobody up', async () => {
    const { clock, put, question } = asked()
    void question.ask()
    const later = question.ask()
    await clock.advance({ seconds: 1 })
    assert.equal(put.length, 2)
    put[1]?.resolve(2)
    assert.equal(await later, 2)
  })

  test('one that fails fails for those who shared it, and the next is put', async () => {
    const { put, question } = asked()
    const first = question.ask()
    const later = [question.ask(), question.ask()]
    put[0]?.reject(new Error('gone'))
    await assert.rejects(first, /gone/)
    await settled()
    put[1]?.reject(new Error('gone as well'))
    for (const one of later) await assert.rejects(one, /gone as well/)
    const last = question.ask()
    put[2]?.resolve(3)
    assert.equal(await last, 3)
  })
})
