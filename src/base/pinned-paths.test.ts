import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { nodeFiles } from '#base/files.ts'

const skip = process.platform === 'linux' ? false : 'needs /proc'

let root = ''
let base = ''
const outside = () => join(root, 'outside')

before(async () => {
  root = await fs.mkdtemp(join(tmpdir(), 'tn pinned '))
  base = join(root, 'base')
  for (const directory of ['base/a/b', 'outside/b']) await fs.mkdir(join(root, directory), { recursive: true })
  await fs.writeFile(join(base, 'a/b/file'), 'inside')
  await fs.writeFile(join(outside(), 'b/file'), 'outside')
  const links: [target: string, path: string][] = [
    ['a', 'inner'],
    ['a/b/file', 'to-file'],
    ['..', 'up'],
    ['../outside', 'out'],
    ['/etc/passwd', 'passwd'],
    ['loop', 'loop'],
    ['nowhere', 'dangling'],
    ['../../outside/new', 'a/dangling-out'],
  ]
  for (const [target, path] of links) await fs.symlink(target, join(base, path))
  await new Promise((resolve) => execFile('mkfifo', [join(base, 'pipe')], resolve))
})
// A process that swaps directories may be at its last one.
after(() => fs.rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }))

for (const path of ['a/b/file', 'inner/b/file', 'to-file', './a//b/file', 'up/base/a/b/file']) {
  test(`${path} stays below, and is held`, { skip }, async () => {
    await using held = await nodeFiles.pinBelow(base, path)
    assert.equal(await fs.readFile(held.path, 'utf8'), 'inside')
    assert.equal(await held.readText(3), 'ins')
    assert.ok(held.isFile && !held.isDirectory)
  })
}

for (const path of ['out', 'out/b/file', 'up', 'up/outside/b/file', 'passwd', '../outside', 'loop', 'dangling', 'none', 'a/b/file/more']) {
  test(`${path} is not held`, { skip }, async () => {
    await assert.rejects(nodeFiles.pinBelow(base, path))
  })
}

test('what is held stays the same when it is replaced by a link', { skip }, async () => {
  const directory = join(base, 'mine')
  await fs.mkdir(directory)
  await using held = await nodeFiles.pinBelow(base, 'mine')
  await fs.rename(directory, join(base, 'moved'))
  await fs.symlink('../outside', directory)
  await fs.writeFile(join(base, 'moved', 'note'), 'here')
  assert.deepEqual(await fs.readdir(held.path), ['note'])
})

test('a pipe does not hang who holds it', { skip }, async () => {
  await using held = await nodeFiles.pinBelow(base, 'pipe')
  assert.ok(!held.isFile && !held.isDirectory)
  await assert.rejects(held.readText(1), /not a regular file/)
})

test('directories are made below, also behind links that stay below, with the mode asked for', { skip }, async () => {
  await nodeFiles.makeDirectoriesBelow(base, 'inner/new/deep', 0o2777)
  assert.equal((await fs.stat(join(base, 'a/new'))).mode & 0o7777, 0o2777)
  assert.equal((await fs.stat(join(base, 'a/new/deep'))).mode & 0o7777, 0o2777)
  await nodeFiles.makeDirectoriesBelow(base, 'inner/new/deep', 0o700)
  assert.equal((await fs.stat(join(base, 'a/new/deep'))).mode & 0o7777, 0o2777)
})

for (const path of ['out/new', 'up/new', '../new', 'a/dangling-out/new', 'to-file/new', 'loop/new']) {
  test(`nothing is made at ${path}`, { skip }, async () => {
    await assert.rejects(nodeFiles.makeDirectoriesBelow(base, path, 0o755))
    assert.deepEqual(await fs.readdir(outside()), ['b'])
    assert.deepEqual((await fs.readdir(root)).sort(), ['base', 'outside'])
  })
}

test('whoever swaps a directory for a link again and again does not lead us out', { skip }, async () => {
  await fs.mkdir(join(base, 'swap/b'), { recursive: true })
  await fs.writeFile(join(base, 'swap/b/file'), 'inside')
  const script = 'while :; do mv -T swap kept; ln -sT ../outside swap; rm -rf swap; mv -T kept swap; done'
  const hostile = spawn('/bin/sh', ['-c', script], { cwd: base, stdio: 'ignore' })
  try {
    let [held, refused] = [0, 0]
    for (let round = 0; round < 300 && (held < 20 || refused < 20); round++) {
      try {
        await using pinned = await nodeFiles.pinBelow(base, 'swap/b/file')
        assert.equal(await pinned.readText(100), 'inside')
        held++
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
        refused++
      }
      await nodeFiles.makeDirectoriesBelow(base, 'swap/b/new', 0o755).catch(() => undefined)
    }
    assert.deepEqual(await fs.readdir(join(outside(), 'b')), ['file'])
  } finally {
    hostile.kill('SIGKILL')
    await new Promise((resolve) => hostile.on('close', resolve))
  }
})
