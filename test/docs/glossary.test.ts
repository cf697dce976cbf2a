import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const repository = join(import.meta.dirname, '..', '..')

test('every name that the glossary explains is one of the source', () => {
  const files = globSync('src/**/*.ts', { cwd: repository }).map((file) => readFileSync(join(repository, file), 'utf8'))
  const words = new Set(files.flatMap((text) => text.match(/[A-Za-z]\w*/g) ?? []))
  const paths = new Set(globSync('src/**/*', { cwd: repository }).flatMap((path) => path.replace(/\.ts$/, '').split('/')))
  const rows = readFileSync(join(repository, 'docs/glossary.md'), 'utf8').match(/^\| .+$/gm) ?? []
  const explained = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name))
  assert.ok(explained.length > 50)
  assert.deepEqual(
    explained.filter((name) => !words.has(name) && !paths.has(name)),
    [],
  )
})
