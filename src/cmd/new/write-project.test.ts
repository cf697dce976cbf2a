import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeProject } from '#cmd/new/write-project.ts'

const project = { kind: 'operator' as const, name: 'shop', group: 'example.com', directory: '' }

test('names that would be no file, no package or no kind are refused', async () => {
  for (const name of ['', 'Shop', '1shop', '../shop', 'a/b', 'main', "x'y"]) {
    await assert.rejects(writeProject({ ...project, name }), /is not a valid name for a project|is a file of every project/)
  }
  for (const group of ['example', 'Example.com', "a'b.com"])
    await assert.rejects(writeProject({ ...project, group }), /is not a valid API group/)
})

test('what is there is not written over', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'new-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'mine'), '')
  await assert.rejects(writeProject({ ...project, directory }), /is there already, and not empty/)
  assert.deepEqual(readdirSync(directory), ['mine'])
})
