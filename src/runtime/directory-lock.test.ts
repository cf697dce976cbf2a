import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { descriptors } from '#base/descriptors.ts'
import { nodeFiles as files } from '#base/files.ts'
import { whyNoSystemCalls } from '#base/system-calls.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { lockDirectory } from '#runtime/directory-lock.ts'

test('one process at a time has a directory', { skip: whyNoSystemCalls() ?? false }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn-lock-'))
  try {
    const path = join(directory, 'lock')
    const clock = new VirtualClock()
    const take = () => lockDirectory(directory, path, { files, clock })

    using _first = await take()
    const refused = assert.rejects(take(), {
      message: `another process (PID ${process.pid}) runs containers in ${directory}: stop it first`,
    })
    await clock.advance(10_000)
    await refused
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('a lock that outlives its holder by a moment is waited for', { skip: whyNoSystemCalls() ?? false }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn-lock-'))
  try {
    const path = join(directory, 'lock')
    const clock = new VirtualClock()
    const { descriptor } = descriptors.lock(path)
    let isTaken = false
    const taken = lockDirectory(directory, path, { files, clock }).finally(() => {
      isTaken = true
    })
    await clock.advance(1000)
    assert.equal(isTaken, false)
    descriptors.close(descriptor)
    await clock.advance(100)
    using _lock = await taken
    assert.equal(descriptors.lock(path).isOurs, false)
  } finally {
    rmSync(directory, { recursive: true })
  }
})
