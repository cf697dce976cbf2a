import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onlyForTests, unusedExports } from './check-exports.ts'

const check = (files: Record<string, string>) => unusedExports(new Map(Object.entries(files)))

test('an export that nobody imports is named, with what to do', () => {
  assert.deepEqual(check({ 'src/api/a.ts': 'export const a = 1\nexport function b() {\n  return a\n}\n' }), [
    'src/api/a.ts: nobody imports a: it needs no export',
    'src/api/a.ts: nobody imports b: it is not used at all',
  ])
})

test('what is imported by room, by path, as a whole or later is used', () => {
  const a = 'export const a = 1\n'
  for (const source of [
    "import { a } from '#api/a.ts'",
    "import { a as b, type C } from './a.ts'",
    "import * as all from './a.ts'",
    "const { a } = await import('#api/a.ts')",
    "export { a } from '#api/a.ts'",
  ])
    assert.deepEqual(check({ 'src/api/a.ts': a, 'src/api/b.ts': source }), [], source)
})

test('a type may be exported for the functions that speak of it; one that nothing speaks of may not', () => {
  const file = 'export type Options = { a: number }\nexport function use(options: Options) {}\nexport type Idle = string\n'
  const lines = check({ 'src/api/a.ts': file, 'test/b.ts': "import { use } from '#api/a.ts'" })
  assert.deepEqual(lines, ['src/api/a.ts: nobody imports Idle: it is not used at all'])
})

test('a file that only tests lead to is named; threads and folders called testing are not', () => {
  const files = {
    'src/cmd/main.ts': "import { a } from '#api/a.ts'\nnew URL('./thread.ts', import.meta.url)",
    'src/cmd/thread.ts': '',
    'src/api/a.ts': '',
    'src/api/a.test.ts': "import '#api/fake.ts'\nimport '#api/testing/b.ts'",
    'src/api/fake.ts': '',
    'src/api/testing/b.ts': '',
  }
  const lines = onlyForTests(new Map(Object.entries(files)))
  assert.deepEqual(lines, ['src/api/fake.ts: only tests lead to it: it belongs in a folder `testing`, or goes'])
})
