import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce, inSteps, type Steps } from '#base/steps.ts'

function* counted(seen: number[]): Steps<string> {
  for (const step of [1, 2, 3]) {
    seen.push(step)
    yield
  }
  return 'done'
}

test('steps are done at once where nobody has to be let in', () => {
  const seen: number[] = []
  assert.equal(atOnce(counted(seen)), 'done')
  assert.deepEqual(seen, [1, 2, 3])
  assert.equal(
    inSteps(counted(seen), () => undefined),
    'done',
  )
  assert.equal(inSteps(counted(seen), undefined), 'done')
})

test('others are let in between two steps', async () => {
  const seen: number[] = []
  const ways: (() => void)[] = []
  const outcome = inSteps(counted(seen), () => (seen.length === 2 ? new Promise((resolve) => ways.push(resolve)) : undefined))
  assert.deepEqual(seen, [1, 2])
  ways[0]?.()
  assert.equal(await outcome, 'done')
  assert.deepEqual(seen, [1, 2, 3])
})

test('a step that fails ends the work with its error', async () => {
  function* failing(): Steps<void> {
    yield
    throw new Error('no')
  }
  assert.throws(() => inSteps(failing(), undefined), /no/)
  await assert.rejects(async () => inSteps(failing(), () => Promise.resolve()), /no/)
})
