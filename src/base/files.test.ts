import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'

test('a watched file is seen to change again and again, also when it is replaced as a whole', async () => {
  const directory = await nodeFiles.temporaryDirectory('watched ')
  const path = join(directory, 'file')
  await nodeFiles.write(path, '0')
  let heard = () => {}
  const watch = nodeFiles.watch(path, () => heard())
  for (const content of ['1', '2', '3']) {
    const seen = new Promise<void>((resolve) => {
      heard = () => void nodeFiles.readTextIfPresent(path).then((text) => text === content && resolve())
    })
    await nodeFiles.write(path, content)
    await seen
  }
  assert.equal(await nodeFiles.readText(path), '3')
  watch[Symbol.dispose]()
  heard = () => {}
  await nodeFiles.remove(directory)
})

test('directories deeper than a path can say are removed', async (t) => {
  if (process.platform === 'win32') return t.skip('paths have other limits')
  const directory = await nodeFiles.temporaryDirectory('deep ')
  const deepen = 'i=0; while [ $i -lt 30 ]; do d=$(printf "%0200d" $i); mkdir "$d" && cd -P "$d" || exit 1; i=$((i+1)); done'
  assert.equal((await nodeProcesses.run('/bin/sh', ['-c', deepen], { directory })).exitCode, 0)
  await nodeFiles.remove(directory)
  assert.equal(await nodeFiles.stat(directory), undefined)
})

test('directories that are made at the same time find each other’s parents', async () => {
  const directory = await nodeFiles.temporaryDirectory('files ')
  try {
    for (let round = 0; round < 50; round++) {
      const paths = Array.from({ length: 8 }, (_, index) => join(directory, `r${round}`, 'shared', `d${index}`))
      await Promise.all(paths.map((path) => nodeFiles.makeDirectory(path)))
      for (const path of paths) assert.equal((await nodeFiles.stat(path))?.kind, 'directory')
    }
  } finally {
    await nodeFiles.remove(directory)
  }
})

test('a directory of many files is measured and removed by programs of the system, one of few files is not', async (t) => {
  if (process.platform === 'win32') return t.skip('there are no such programs')
  const started: string[] = []
  const { run } = nodeProcesses
  t.mock.method(nodeProcesses, 'run', (...args: Parameters<typeof run>) => {
    started.push([args[0], ...args[1]].find((word) => word === 'du' || word === 'rm') ?? args[0])
    return run(...args)
  })
  for (const [count, programs] of [
    [20, []],
    [1200, ['du', 'du', 'rm']],
  ] as const) {
    const directory = await nodeFiles.temporaryDirectory('many ')
    await nodeFiles.makeDirectory(join(directory, 'deep', 'er'))
    const all = Array.from({ length: count }, (_, index) => join(directory, 'deep', `${index}`))
    for (const path of all) await nodeFiles.append(path, 'x')
    await fs.link(join(directory, 'deep', '0'), join(directory, 'other name'))
    // Those who ask at the same time share one answer.
    const [usage, same] = await Promise.all([nodeFiles.usage(directory), nodeFiles.usage(directory)])
    assert.equal(usage, same)
    assert.equal(usage.inodesUsed, count + 3)
    assert.ok(usage.usedBytes >= count * 512)
    const names: string[] = []
    for await (const name of nodeFiles.names(directory)) names.push(name)
    assert.deepEqual(names.sort(), ['deep', 'other name'])
    await nodeFiles.remove(directory)
    assert.equal(await nodeFiles.stat(directory), undefined)
    assert.deepEqual(started.splice(0), programs)
  }
})

test('nothing is there to be measured, named or removed where there is no directory', async () => {
  assert.deepEqual(await nodeFiles.usage('/no/such/place'), { usedBytes: 0, inodesUsed: 0 })
  for await (const name of nodeFiles.names('/no/such/place')) assert.fail(name)
  await nodeFiles.remove('/no/such/place')
})

test('a link to a directory of many files is removed, and they stay', async () => {
  const directory = await nodeFiles.temporaryDirectory('linked ')
  await nodeFiles.makeDirectory(join(directory, 'target'))
  for (let index = 0; index < 1100; index++) await nodeFiles.append(join(directory, 'target', `${index}`), '')
  await nodeFiles.symlink('target', join(directory, 'link'))
  await nodeFiles.remove(join(directory, 'link'))
  assert.deepEqual([(await nodeFiles.list(directory)).length, (await nodeFiles.list(join(directory, 'target'))).length], [1, 1100])
  await nodeFiles.remove(directory)
})

test('a program that writes without end is stopped', async () => {
  await assert.rejects(nodeProcesses.run('/bin/sh', ['-c', 'exec yes 0123456789012345678901234567890123456789']), /has written more than/)
})
