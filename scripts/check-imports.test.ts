import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cyclesIn, loadedRules, wrongImports, wrongTestImports } from './check-imports.ts'
import { importGraph } from './import-graph.ts'

for (const [path, source, complaint] of [
  ['src/api/a.ts', "import { b } from '#apiserver/b.ts'", /api may not import #apiserver\/b\.ts/],
  ['src/scheduler/a.ts', "const b = await import('#kubelet/b.ts')", /scheduler may not import/],
  ['src/base/a.ts', "import type { B } from '#api/b.ts'", /base may not import/],
  ['src/api/core/a.ts', "import { b } from '../b.ts'", /so that its room shows/],
  ['src/index.ts', "export { a } from '#apiserver/a.ts'", /apiserver is not for users/],
  ['src/index.ts', 'export const a = 1', /may only export from rooms/],
  ['src/attic/a.ts', '', /attic is no room/],
  ['src/api/a.ts', "import { b } from '#api/core/testing/b.ts'", /is for tests/],
  ['src/cmd/a.ts', "import { b } from '#testing/b.ts'", /is for tests/],
] as const) {
  test(`${path} with ${source || 'nothing'} is refused`, () => {
    assert.match(wrongImports(path, source).join('\n'), complaint)
  })
}

test('imports along the direction pass', () => {
  const source = "import { a } from '#base/a.ts'\nimport { b } from '#api/b.ts'\nimport { c } from './c.ts'\nimport 'node:path'"
  assert.deepEqual(wrongImports('src/client/a.ts', source), [])
  assert.deepEqual(wrongImports('src/index.ts', "export {\n  a,\n} from '#client/a.ts'\nexport * from '#client/b.ts'"), [])
  assert.deepEqual(wrongImports('src/cmd/a.ts', "import { a } from '#kubelet/a.ts'"), [])
  assert.deepEqual(wrongImports('src/api/testing/a.ts', "import { a } from '#testing/a.ts'"), [])
})

test('a unit test does not reach out of src', () => {
  assert.equal(wrongTestImports('src/api/a.test.ts', "import { a } from '../../test/support/a.ts'").length, 1)
  assert.deepEqual(wrongTestImports('src/api/a.test.ts', "import { a } from '#testing/a.ts'\nimport { b } from './b.ts'"), [])
})

test('files that load each other in a circle are told, within a room as well', () => {
  const graph = importGraph([
    ['src/api/a.ts', "import { b } from '#api/b.ts'"],
    ['src/api/b.ts', "import {\n  c,\n  type D,\n} from './c.ts'"],
    ['src/api/c.ts', "export { a } from '#api/a.ts'"],
    ['src/api/d.ts', "import { a } from '#api/a.ts'"],
  ])
  assert.deepEqual(cyclesIn(graph), ['these import each other in a circle: src/api/a.ts, src/api/b.ts, src/api/c.ts'])
})

test('imports of types, in comments and on demand make no circle', () => {
  const graph = importGraph([
    ['src/api/a.ts', "import { b } from '#api/b.ts'"],
    ['src/api/b.ts', "import type { A } from '#api/a.ts'\nimport { type A2 } from '#api/a.ts'\n/* import { a } from '#api/a.ts' */"],
    ['src/api/c.ts', "import { a } from '#api/a.ts'\nconst c = () => import('#api/c.ts')"],
  ])
  assert.deepEqual(cyclesIn(graph), [])
})

test('a client that loads rules of the server is told, and by which way', () => {
  const graph = importGraph([
    ['src/kubelet/a.ts', "import { b } from '#api/b.ts'"],
    ['src/kubelet/other.ts', ''],
    ['src/apiserver/c.ts', "import { b } from '#api/b.ts'"],
    ['src/api/b.ts', "import { pod } from '#api/pod.ts'"],
    ['src/api/pod.ts', ''],
  ])
  const wrong = loadedRules(graph, (path) => path === 'src/api/pod.ts')
  assert.deepEqual(wrong.length, 1)
  assert.match(wrong[0] ?? '', /src\/kubelet\/a\.ts -> src\/api\/b\.ts -> src\/api\/pod\.ts/)
})
