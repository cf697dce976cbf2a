import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Files, nodeFiles } from '#base/files.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { type ProjectedFiles, writeAtomically } from '#kubelet/volumes/atomic-directory.ts'

const clock = new VirtualClock('2026-01-02T03:04:05Z')
const random = seededRandom(1)

const filesOf = (texts: Record<string, string>, mode = 0o644): ProjectedFiles =>
  new Map(Object.entries(texts).map(([path, text]) => [path, { content: Buffer.from(text), mode }]))

async function aDirectory() {
  const directory = await fs.mkdtemp(join(tmpdir(), 'tn atomic '))
  return {
    directory,
    write: (projected: ProjectedFiles, beforeSwap = async () => {}) =>
      writeAtomically(directory, projected, { files: nodeFiles, clock, random }, beforeSwap),
    read: (path: string) => fs.readFile(join(directory, path), 'utf8'),
    visible: async () => (await fs.readdir(directory)).filter((name) => !name.startsWith('..')).sort(),
    hidden: async () => (await fs.readdir(directory)).filter((name) => name.startsWith('..')).sort(),
    [Symbol.asyncDispose]: () => fs.rm(directory, { recursive: true, force: true }),
  }
}

test('files are links into a directory with a time in its name', async () => {
  await using at = await aDirectory()
  await at.write(filesOf({ a: '1', 'b/c/d': '2' }, 0o440))
  assert.deepEqual(await at.visible(), ['a', 'b'])
  assert.equal(await fs.readlink(join(at.directory, 'a')), '..data/a')
  assert.equal(await fs.readlink(join(at.directory, 'b')), '..data/b')
  const shown = await fs.readlink(join(at.directory, '..data'))
  assert.match(shown, /^\.\.2026_01_02_03_04_05\.\d{10}$/)
  assert.deepEqual(await at.hidden(), [shown, '..data'].sort())
  assert.equal(await at.read('b/c/d'), '2')
  assert.equal((await fs.stat(join(at.directory, 'a'))).mode & 0o7777, 0o440)
  assert.equal((await fs.stat(join(at.directory, 'b/c'))).mode & 0o7777, 0o755)
})

const changes: [what: string, before: Record<string, string>, after: Record<string, string>, swaps: boolean][] = [
  ['the same files', { a: '1', 'b/c': '2' }, { a: '1', 'b/c': '2' }, false],
  ['other content', { a: '1' }, { a: '2' }, true],
  ['one more', { a: '1' }, { a: '1', b: '2' }, true],
  ['one less', { a: '1', b: '2' }, { a: '1' }, true],
  ['one less in a directory', { 'd/a': '1', 'd/b': '2' }, { 'd/a': '1' }, true],
  ['a directory less', { a: '1', 'd/b/c': '2' }, { a: '1' }, true],
  ['a file that becomes a directory', { a: '1' }, { 'a/b': '1' }, true],
  ['a directory that becomes a file', { 'a/b': '1' }, { a: '1' }, true],
  ['nothing any more', { a: '1' }, {}, true],
  ['something after nothing', {}, { a: '1' }, true],
]

for (const [what, before, after, swaps] of changes) {
  test(`${what}: ${swaps ? 'all is swapped at once' : 'nothing is touched'}`, async () => {
    await using at = await aDirectory()
    await at.write(filesOf(before))
    const old = await fs.readlink(join(at.directory, '..data'))
    await at.write(filesOf(after))
    assert.equal((await fs.readlink(join(at.directory, '..data'))) !== old, swaps)
    assert.deepEqual(await at.visible(), [...new Set(Object.keys(after).map((path) => path.split('/')[0]))].sort())
    for (const [path, text] of Object.entries(after)) assert.equal(await at.read(path), text)
    assert.equal((await at.hidden()).length, 2)
  })
}

test('what a crash has left is taken away, and links it has not made are made', async () => {
  await using at = await aDirectory()
  await at.write(filesOf({ a: '1' }))
  await fs.symlink('..2025_01_01_00_00_00.0000000001', join(at.directory, '..data_tmp'))
  await fs.mkdir(join(at.directory, '..2025_01_01_00_00_00.0000000001'))
  await fs.unlink(join(at.directory, 'a'))
  await at.write(filesOf({ a: '1' }))
  assert.equal(await at.read('a'), '1')
  await at.write(filesOf({ a: '2' }))
  assert.equal(await at.read('a'), '2')
  assert.equal((await at.hidden()).length, 2)
})

test('a swap that is not permitted leaves everything as it was', async () => {
  await using at = await aDirectory()
  await at.write(filesOf({ a: '1' }))
  await assert.rejects(at.write(filesOf({ a: '2' }), () => Promise.reject(new Error('no'))))
  assert.equal(await at.read('a'), '1')
  await at.write(filesOf({ a: '1' }))
  assert.equal((await at.hidden()).length, 2)
})

const refused: [path: string, message: string][] = [
  ['', 'invalid path: must not be empty: ""'],
  ['/etc/passwd', 'invalid path: must be relative path: /etc/passwd'],
  ['../a', "invalid path: must not contain '..': ../a"],
  ['a/../../b', "invalid path: must not contain '..': a/../../b"],
  ['..a', "invalid path: must not start with '..': ..a"],
  ['x'.repeat(256), 'invalid path: filenames must be less than or equal to 255 characters'],
  ['x/'.repeat(2049), 'invalid path: must be less than or equal to 4096 characters'],
]

for (const [path, message] of refused) {
  test(`a file at ${JSON.stringify(path.slice(0, 20))} is refused`, async () => {
    await using at = await aDirectory()
    await assert.rejects(at.write(filesOf({ [path]: '' })), { message })
    assert.deepEqual(await fs.readdir(at.directory), [])
  })
}

test('paths by the hundred, each of thousands of directories, are refused; those of some are made once', async () => {
  await using at = await aDirectory()
  const deep = (index: number, depth: number) => `${index}/${'a/'.repeat(depth)}f`
  await assert.rejects(at.write(filesOf({ [deep(0, 1900)]: 'x' })), /invalid path: must not be deeper than 256 directories/)
  const made: string[] = []
  const files: Files = {
    ...nodeFiles,
    makeDirectory: (path, options) => {
      made.push(path)
      return nodeFiles.makeDirectory(path, options)
    },
  }
  const wanted = filesOf({ 'a/b/c': '1', 'a/b/d': '2', 'a/e': '3' })
  for (let round = 0; round < 2; round++) await writeAtomically(at.directory, wanted, { files, clock, random }, async () => {})
  assert.deepEqual(
    made
      .map((path) =>
        path
          .split('/')
          .slice(-2)
          .join('/')
          .replace(/^.*\d{10}\/?/, ''),
      )
      .slice(1),
    ['a', 'a/b'],
  )
})
