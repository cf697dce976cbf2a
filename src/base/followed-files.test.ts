import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FollowedFiles, type Settling } from '#base/followed-files.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

/** A file that readers hold until they are let go. */
function followed(settling?: Settling) {
  let changed = () => {}
  let isWatched = false
  const held: (() => void)[] = []
  const seen: string[] = []
  const file = { text: 'first' }
  const watch = (onChange: () => void) => {
    changed = onChange
    isWatched = true
    const stop = () => {
      isWatched = false
    }
    return { [Symbol.dispose]: stop }
  }
  const files = new FollowedFiles(watch, settling)
  return {
    files,
    seen,
    held,
    isWatched: () => isWatched,
    write(text: string) {
      file.text = text
      changed()
    },
    async read() {
      const { text } = file
      await new Promise<void>((resolve) => held.push(resolve))
      seen.push(text)
    },
    async letGo() {
      held.shift()?.()
      await new Promise<void>((resolve) => setImmediate(resolve))
    },
  }
}
const never = (error: unknown) => assert.fail(String(error))

test('what is written between the first reading and the end of the start is read', async () => {
  const { files, write, read, letGo, seen } = followed()
  write('second')
  files.readAgain(read, never)
  await letGo()
  assert.deepEqual(seen, ['second'])
})

test('nothing is read again where nothing has changed', async () => {
  const { files, read, held } = followed()
  files.readAgain(read, never)
  assert.equal(held.length, 0)
})

test('changes while it is read are read once more, after the reading that goes on', async () => {
  const { files, write, read, letGo, held, seen } = followed()
  files.readAgain(read, never)
  for (const text of ['second', 'third', 'fourth']) write(text)
  assert.equal(held.length, 1)
  await letGo()
  assert.equal(held.length, 1)
  await letGo()
  assert.deepEqual([seen, held.length], [['second', 'fourth'], 0])
})

test('several changes in one go are read when they have settled', async () => {
  const clock = new VirtualClock()
  const { files, write, read, letGo, held, seen } = followed({ clock, ms: 200 })
  files.readAgain(read, never)
  write('second')
  await clock.advance(150)
  write('third')
  assert.equal(held.length, 0)
  await clock.advance(50)
  await letGo()
  assert.deepEqual(seen, ['third'])
})

test('a reading that fails is told of, and the next change is read all the same', async () => {
  const { files, write, seen } = followed()
  const failures: string[] = []
  let isBroken = true
  files.readAgain(
    async () => {
      if (isBroken) throw new Error('half of it')
      seen.push('whole')
    },
    (error) => failures.push(String(error)),
  )
  write('half')
  await new Promise<void>((resolve) => setImmediate(resolve))
  isBroken = false
  write('whole')
  await new Promise<void>((resolve) => setImmediate(resolve))
  assert.deepEqual([failures, seen], [['Error: half of it'], ['whole']])
})

test('nothing is read after the end', async () => {
  const clock = new VirtualClock()
  const { files, write, read, held, isWatched } = followed({ clock, ms: 200 })
  files.readAgain(read, never)
  write('second')
  files[Symbol.dispose]()
  await clock.advance(1000)
  write('third')
  assert.deepEqual([held.length, isWatched()], [0, false])
})

test('files that cannot be watched are told of after the first reading, which may say why', () => {
  const watch = () => {
    throw new Error('no such directory')
  }
  const files = new FollowedFiles(watch)
  assert.throws(() => files.readAgain(async () => {}, never), { message: 'no such directory' })
})
