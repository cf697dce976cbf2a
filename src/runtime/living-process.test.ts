import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Files, nodeFiles } from '#base/files.ts'
import { ProcessTable } from '#runtime/living-process.ts'

test('a process that cannot be looked at is not taken for one that has ended', async () => {
  let failure: string | undefined
  const files: Files = {
    ...nodeFiles,
    readTextIfPresent: (path) =>
      failure === undefined || path.endsWith('boot_id')
        ? nodeFiles.readTextIfPresent(path)
        : Promise.reject(Object.assign(new Error(failure), { code: failure })),
  }
  const table = await ProcessTable.open(files)
  const found = await table.find(process.pid)
  assert.ok(found !== undefined && (await table.isAlive(found)))
  assert.equal(await table.isAlive({ ...found, startTicks: '1' }), false)
  failure = 'ESRCH'
  assert.equal(await table.isAlive(found), false)
  failure = 'EMFILE'
  await assert.rejects(table.isAlive(found), { code: 'EMFILE' })
  assert.equal(await table.find(process.pid), undefined)
})
