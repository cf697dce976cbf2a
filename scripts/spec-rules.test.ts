/** Numbered promises (SPEC.md) and the tests that prove them belong together. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const repository = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(repository, path), 'utf8')
const quoted = new Set(
  globSync(['src/**/*.test.ts', 'test/{contracts,scenarios,e2e}/**/*.ts'], { cwd: repository }).flatMap((path) =>
    [...read(path).matchAll(/['`]\[([A-Z]{2}\d+)\] /g)].map(([, rule = '']) => rule),
  ),
)
const specs = globSync('src/**/SPEC.md', { cwd: repository })
const rules = new Map(specs.map((path) => [path, [...read(path).matchAll(/^- \*\*([A-Z]{2}\d+)\*\* /gm)].map(([, rule = '']) => rule)]))

for (const [path, numbers] of rules) {
  test(`every rule of ${path} is proved by a test whose name starts with it`, () => {
    assert.equal(new Set(numbers).size, numbers.length, 'a number is used twice')
    assert.deepEqual(
      numbers.filter((rule) => !quoted.has(rule)),
      [],
    )
  })
}

test('no test quotes a rule that there is not', () => {
  const known = new Set([...rules.values()].flat())
  assert.deepEqual(
    [...quoted].filter((rule) => !known.has(rule)),
    [],
  )
})
