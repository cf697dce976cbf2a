/** The lint that keeps effects in base/, shown to refuse what it must. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const repository = join(import.meta.dirname, '..')

/** Lints a file of this content as if it stood in a room other than base: a copy of the rules in a folder that ends with the test. */
function lint(source: string): { passes: boolean; output: string } {
  const directory = mkdtempSync(join(tmpdir(), 'seams-'))
  try {
    for (const rules of ['biome.json', '.gitignore', 'scripts/lint'])
      cpSync(join(repository, rules), join(directory, rules), { recursive: true })
    mkdirSync(join(directory, 'src', 'room'), { recursive: true })
    writeFileSync(join(directory, 'src', 'room', 'probe.ts'), `${source}\n`)
    const { status, stdout, stderr } = spawnSync(join(repository, 'node_modules', '.bin', 'biome'), ['lint', 'src'], {
      cwd: directory,
      encoding: 'utf8',
    })
    return { passes: status === 0, output: stdout + stderr }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

for (const source of [
  'export const now = Date.now()',
  'export const read = Date.now',
  'export const today = new Date()',
  'setTimeout(() => {}, 1)',
  'globalThis.setTimeout(() => {}, 1)',
  'setInterval(() => {}, 1)',
  'setImmediate(() => {})',
  'export const chance = Math.random()',
  'export const chances = [1].map(Math.random)',
  "import { readFileSync } from 'node:fs'\nreadFileSync('x')",
  "import { readFile } from 'node:fs/promises'\nawait readFile('x')",
  "import { connect } from 'node:net'\nconnect(1)",
  "import { spawn } from 'node:child_process'\nspawn('x')",
  "import { randomUUID } from 'node:crypto'\nexport const id = randomUUID()",
  'export const started = performance.now()',
  "await fetch('http://localhost')",
  'export const home = process.env',
]) {
  test(`outside of base, ${JSON.stringify(source)} fails the lint`, () => {
    const { passes, output } = lint(source)
    assert.equal(passes, false, output)
    assert.match(output, /front door|Take (Files|Processes)|Do not use the global variable/)
  })
}

test('a time that is given, and hashing, pass', () => {
  const { passes, output } = lint(
    "import { createHash } from 'node:crypto'\nexport const moment = new Date(5)\nexport const digest = createHash('sha256').update('x').digest('hex')",
  )
  assert.equal(passes, true, output)
})
