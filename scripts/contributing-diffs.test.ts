/** The diffs in CONTRIBUTING.md are of this code, not of a former one. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const repository = join(import.meta.dirname, '..')
const page = readFileSync(join(repository, 'CONTRIBUTING.md'), 'utf8')

for (const [, title = '', diff = ''] of page.matchAll(/^### (.*)\n[^`]*(?:`[^`\n]+`[^`]*)*?```diff\n([\s\S]*?)^```/gm)) {
  test(`the diff of "${title}" applies`, () => {
    const { status, stderr } = spawnSync('git', ['apply', '--check', '-C1', '-'], { cwd: repository, input: diff, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  })
}

test('there are four of them', () => {
  assert.equal([...page.matchAll(/^```diff$/gm)].length, 4)
})
