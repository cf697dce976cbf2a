import assert from 'node:assert/strict'
import { test } from 'node:test'
import { customColumns } from '#cli/print/custom-columns.ts'
import { kyamlText } from '#cli/print/kyaml.ts'
import { sortedBy } from '#cli/print/sort-objects.ts'
import { descriptionColumns, TabWriter } from '#cli/print/tab-writer.ts'
import { isTable } from '#cli/print/table.ts'
import { JsonPathTemplate } from '#cli/template/json-path-template.ts'

test('columns are as wide as their widest cell, and a column ends where a line lacks it', () => {
  const out = new TabWriter(descriptionColumns)
  out.write('Name:\tweb\nA longer name:\tx\nAlone\nB:\ty\n')
  assert.equal(out.flush(), 'Name:           web\nA longer name:  x\nAlone\nB:  y\n')
})

test('tables keep their widths from one line of a watch to the next', () => {
  const out = new TabWriter()
  out.row(['a-long-name', 'x'])
  assert.equal(out.flush(), 'a-long-name   x\n')
  out.row(['b', 'y'])
  assert.equal(out.flush(), 'b             y\n')
})

test('JSONPath templates print text, values and ranges', () => {
  const list = {
    items: [
      { name: 'a', n: 1 },
      { name: 'b', n: 2.5, labels: { x: 'y' } },
    ],
  }
  for (const [template, output] of [
    ['{.items[*].name}', 'a b'],
    ['{range .items[*]}{.name}={.n}{"\\n"}{end}', 'a=1\nb=2.5\n'],
    ['{.items[1].labels}', '{"x":"y"}'],
    ['{.items[?(@.name=="b")].n}', '2.5'],
    ['{.nosuch}', ''],
  ] as const)
    assert.equal(new JsonPathTemplate(template).render(list), output)
  assert.throws(() => new JsonPathTemplate('{.a'), /unclosed action/)
  assert.equal(new JsonPathTemplate('{range .items[*]}{.name}').render(list), 'ab')
  assert.deepEqual(new JsonPathTemplate('{range .items[*]}{.name}{end}').values(list), [['a'], ['b']])
  assert.equal(new JsonPathTemplate('{"\\u00e9\\t"}').render(list), 'é\t')
  assert.throws(() => new JsonPathTemplate('{"\\q"}'), /unquote string "\\q" error invalid syntax/)
})

test('custom columns show <none> for what is not there', () => {
  const print = customColumns('NAME:.metadata.name,X:.nosuch', { isFile: false, noHeaders: false })
  assert.equal(print({ metadata: { name: 'a' } }), 'NAME   X\na      <none>\n')
  assert.throws(() => customColumns('foo', { isFile: false, noHeaders: false }), /unexpected custom-columns spec: foo/)
})

test('objects are sorted by numbers, times, quantities and texts, those without a value first', () => {
  const sorted = (values: unknown[]) =>
    sortedBy(
      values.map((v) => ({ v })),
      '.v',
      (each) => each,
    ).map(({ v }) => v)
  assert.deepEqual(sorted([10, 9, undefined]), [undefined, 9, 10])
  assert.deepEqual(sorted(['1Gi', '500Mi']), ['500Mi', '1Gi'])
  assert.deepEqual(sorted(['pod-10', 'pod-9']), ['pod-9', 'pod-10'])
  assert.deepEqual(sorted(['2026-01-02T00:00:00Z', '2025-01-02T00:00:00Z']), ['2025-01-02T00:00:00Z', '2026-01-02T00:00:00Z'])
  assert.throws(() => sortedBy([{}], '.v', (each) => each), /couldn't find any field with path "\{\.v\}"/)
})

test('of few objects those without a value stand in the opposite order, as where Go inserts one by one', () => {
  const objects = [{ name: 'a' }, { name: 'b', n: 2 }, { name: 'c' }, { name: 'd', n: 1 }]
  assert.equal(
    sortedBy(objects, '.n', (each) => each)
      .map(({ name }) => name)
      .join(''),
    'cadb',
  )
})

test('KYAML quotes every text and hugs brackets of lists of objects', () => {
  assert.equal(
    kyamlText({ kind: 'Pod', items: [{ a: 'x\ny\n' }], list: ['b', 1], none: {} }),
    '---\n{\n  kind: "Pod",\n  items: [{\n    a: "\\\n       x\\n\\\n       y\\n\\\n      ",\n  }],\n  list: [\n    "b",\n    1,\n  ],\n  none: {},\n}\n',
  )
})

test('a table without rows may have null in their place', () => {
  const table: unknown = { kind: 'Table', columnDefinitions: [], rows: null }
  assert.ok(isTable(table))
  assert.deepEqual(table.rows, [])
  assert.equal(isTable({ kind: 'Pod' }), false)
})
