import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestTurns } from '#apiserver/http/request-turns.ts'
import { systemClock } from '#base/clock.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

/** Time that passes with work alone, and an event loop that is turned by hand. */
function handTurned() {
  let nowMs = 0
  let immediates: (() => void)[] = []
  const clock = Object.assign(new VirtualClock(), {
    heldMs: () => 1,
    monotonic: () => nowMs,
    soon: (callback: () => void) => void immediates.push(callback),
  })
  return {
    turns: new RequestTurns(clock),
    work: (ms: number) => {
      nowMs += ms
    },
    /** Sockets have their turn; then what asked to come after them. */
    async turn(others?: () => void) {
      others?.()
      const due = immediates
      immediates = []
      for (const callback of due) callback()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

test('requests begin at once until the event loop has been held for too long, and then one after the other', async () => {
  const { turns, work, turn } = handTurned()
  const done: number[] = []
  for (let number = 0; number < 10; number++) {
    turns.take(() => {
      done.push(number)
      work(3)
    })
  }
  assert.deepEqual(done, [0, 1, 2])
  await turn()
  assert.deepEqual(done, [0, 1, 2, 3, 4, 5])
  await turn()
  await turn()
  assert.deepEqual(done, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('what others have done in a turn does not keep anybody waiting', async () => {
  const { turns, work, turn } = handTurned()
  const done: number[] = []
  const come = (number: number) => turns.take(() => void done.push(number))
  work(20)
  come(0)
  assert.deepEqual(done, [0])
  work(20)
  come(1)
  come(2)
  assert.deepEqual(done, [0])
  await turn(() => work(20))
  assert.deepEqual(done, [0, 1, 2])
})

test('what follows from a request counts as well, and goes behind those who wait', async () => {
  const { turns, work, turn } = handTurned()
  const done: string[] = []
  const chain = async (name: string) => {
    for (let step = 0; step < 3; step++) {
      await new Promise<void>((resolve) => turns.take(resolve))
      done.push(`${name}${step}`)
      work(5)
    }
  }
  const all = Promise.all(['a', 'b'].map(chain))
  await turn()
  await turn()
  await turn()
  await turn()
  await all
  assert.deepEqual(done, ['a0', 'b0', 'a1', 'b1', 'a2', 'b2'])
})

test('sockets and timers get their turn while promises alone could go on for ever', async () => {
  const turns = new RequestTurns(systemClock)
  let isOver = false
  setImmediate(() => {
    isOver = true
  })
  let steps = 0
  while (!isOver && steps < 10_000_000) {
    await new Promise<void>((resolve) => turns.take(resolve))
    steps++
  }
  assert.ok(isOver, `${steps} steps`)
})

test('connections take turns, and what is over by then is left out', async () => {
  const { turns, work, turn } = handTurned()
  const [busy, other] = [{}, {}]
  const done: string[] = []
  const doing = (name: string) => () => {
    done.push(name)
    work(20)
  }
  turns.take(doing('first'), {})
  for (let number = 0; number < 4; number++) turns.take(doing(`busy ${number}`), busy, () => number === 1)
  turns.take(doing('other'), other)
  await turn()
  assert.deepEqual(done, ['first', 'busy 0'])
  await turn()
  assert.deepEqual(done, ['first', 'busy 0', 'other'])
  await turn()
  await turn()
  assert.deepEqual(done, ['first', 'busy 0', 'other', 'busy 2', 'busy 3'])
})

test('a step that fails does not keep those after it from their turn', async () => {
  const { turns, work, turn } = handTurned()
  const done: string[] = []
  turns.take(() => work(20))
  turns.take(() => {
    throw new Error('a bug')
  })
  turns.take(() => void done.push('after it'))
  await assert.rejects(turn(), /a bug/)
  await turn()
  assert.deepEqual(done, ['after it'])
  turns.take(() => void done.push('later'))
  assert.deepEqual(done, ['after it', 'later'])
})
