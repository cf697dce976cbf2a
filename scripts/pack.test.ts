import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isForTests, packed } from './pack.ts'

test('types go, imports become relative and name .js files', () => {
  const source = [
    "import { a } from '#base/clock.ts'",
    "import type { B } from '#api/resource.ts'",
    "import table from './table.gen.json' with { type: 'json' }",
    "const later = await import('#cmd/up/up.ts')",
    "const thread = new URL('./file-thread.ts', import.meta.url)",
    "const text: string = 'no #path and no ./sentence.'",
  ].join('\n')
  const result = packed(source, 'store/sqlite/file-client.ts')
  assert.match(result, /from '\.\.\/\.\.\/base\/clock\.js'/)
  assert.doesNotMatch(result, /resource/)
  assert.match(result, /'\.\/table\.gen\.json'/)
  assert.match(result, /import\('\.\.\/\.\.\/cmd\/up\/up\.js'\)/)
  assert.match(result, /'\.\/file-thread\.js'/)
  assert.match(result, /'no #path and no \.\/sentence\.'/)
  assert.equal(result.split('\n').length, source.split('\n').length)
})

test('tests and their helpers stay behind', () => {
  assert.deepEqual(['api/a.test.ts', 'api/core/testing/a.ts', 'testing/fake-cluster.ts', 'api/a.ts', 'api/test-of.ts'].map(isForTests), [
    true,
    true,
    true,
    false,
    false,
  ])
})

test('the Node.js that users fetch is the one that this repository is worked on with', async () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(import.meta.dirname, 'node-runtime', 'package.json'), 'utf8'))
  const path = '../bin/node-runtimes.js'
  const { runtimes } = (await import(path)) as { runtimes: Record<string, { name: string; version: string }> }
  assert.deepEqual(Object.fromEntries(Object.values(runtimes).map(({ name, version }) => [name, version])), optionalDependencies)
})
