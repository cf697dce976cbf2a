import assert from 'node:assert/strict'
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
