import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonPathError, parseJsonPath } from './json-path.ts'

const object = {
  kind: 'Widget',
  metadata: { name: 'a', labels: { 'app.example.com/name': 'x' } },
  spec: {
    ports: [
      { name: 'http', port: 80 },
      { name: 'https', port: 443 },
    ],
    none: null,
    deep: { name: 'inner' },
  },
}

test('a path gives all values at its place', () => {
  const cases: [string, unknown[]][] = [
    ['.kind', ['Widget']],
    ['.spec.ports[0].name', ['http']],
    ['.spec.ports[-1].name', ['https']],
    ['.spec.ports[*].port', [80, 443]],
    ['.spec.ports[0:1].port', [80]],
    ['.spec.ports[?(@.name=="https")].port', [443]],
    ['$.spec.ports[?(@.port < 100)].name', ['http']],
    ['.spec.ports[?(@.port)].name', ['http', 'https']],
    ['.spec.ports[0,1].name', ['http', 'https']],
    ["['metadata'].name", ['a']],
    ['.metadata.labels.app\\.example\\.com/name', ['x']],
    ['.metadata.labels.*', ['x']],
    ['.spec..name', ['http', 'https', 'inner']],
    ['.spec.none', [null]],
    ['.spec.none.x', []],
    ['.missing.x', []],
    ['', [object]],
  ]
  for (const [path, expected] of cases) assert.deepEqual([...parseJsonPath(path)(object)].sort(), [...expected].sort(), path)
})

test('what is no path is refused, and so is a path that does not fit', () => {
  for (const path of ['.a[', '.a[x]', '.a[?(@.b==', '....a', '"x', '#', 'range']) {
    assert.throws(() => parseJsonPath(path), JsonPathError, path)
  }
  for (const path of ['.spec.ports[7]', '.kind[0]', '.kind[?(@.x==1)]', '.spec.ports[?(@.name==1)]']) {
    assert.throws(() => parseJsonPath(path)(object), JsonPathError, path)
  }
})

test('where fields must be there, one that is not is an error', () => {
  const strict = (path: string) => parseJsonPath(path, { isStrict: true })({ a: [{ b: 1 }, {}] })
  assert.deepEqual(strict('.a[*].b'), [1])
  assert.deepEqual(strict('.a[?(@.b)].b'), [1])
  assert.throws(() => strict('.c'), new JsonPathError('c is not found'))
  assert.throws(() => strict('.a.b[0]'), /b is not found/)
})

test('what is no list and what is no path is told in the words of Go', () => {
  assert.throws(() => parseJsonPath('.a[0]')({ a: {} }), /^JsonPathError|map\[string\]interface \{\} is not array or slice/)
  assert.throws(() => parseJsonPath('~'), /unrecognized character in action: U\+007E '~'/)
})
