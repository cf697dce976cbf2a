import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countYamlEntries } from '#apiserver/http/yaml-entries.ts'

const cases: [text: string, count: number][] = [
  ['', 0],
  ['a: 1\nb: 2\n', 2],
  ['a:\n- 1\n- 2\n', 3],
  ['- - 1\n  - 2\n', 3],
  ['- a: 1\n  b: 2\n', 3],
  ['a: http://somewhere:80/x', 1],
  ['a: [1, 2, 3]\nb: 1', 5],
  ['a: {b: [1, 2], c: "x, y", d: \'z, z\'}', 5],
  ["a: [it's, so]\nb: [that's]", 5],
  ['a: [\n  1,\n  2\n]\nb: 1\n', 4],
  ['a: |\n  - no\n  b: entry\n\n  c: here\nd: 1\n', 2],
  ['- a: |\n    - no\n  b: >-\n    c: no\n  d: 1\n', 4],
  ['- |\n no: entry\n- 2\n', 2],
]

for (const [text, count] of cases) {
  test(`${JSON.stringify(text)} has ${count} entries`, () => assert.equal(countYamlEntries(Buffer.from(text), 1000), count))
}

test('what has too many is not looked at to its end', () => {
  for (const text of ['- a\n', 'a: [1, 2, 3]\n', '- - ']) {
    const count = countYamlEntries(Buffer.from(text.repeat(100_000)), 50)
    assert.ok(count > 50 && count < 60, `${count}`)
  }
  const flow = countYamlEntries(Buffer.from(`a: [${'1, '.repeat(100_000)}1]`), 50)
  assert.ok(flow > 50 && flow < 60, `${flow}`)
})
