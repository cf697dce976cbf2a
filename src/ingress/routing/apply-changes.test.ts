import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redirectLocation, withHeaderChanges, withPathChange } from '#ingress/routing/apply-changes.ts'
import { chooseWeighted } from '#ingress/routing/choose-weighted.ts'
import { resolvedPath } from '#ingress/routing/request-path.ts'

test('headers are removed, set and added to', () => {
  const headers = ['A', '1', 'b', '2', 'a', '3', 'C', '4']
  const changed = withHeaderChanges(headers, [
    {
      set: [['B', 'two']],
      add: [
        ['c', 'five'],
        ['D', '6'],
      ],
      remove: ['a'],
    },
  ])
  assert.deepEqual(changed, ['C', '4,five', 'B', 'two', 'D', '6'])
})

// The table of the Gateway API.
for (const [path, prefix, replacement, result] of [
  ['/foo/bar', '/foo', '/xyz', '/xyz/bar'],
  ['/foo/bar', '/foo', '/xyz/', '/xyz/bar'],
  ['/foo/bar', '/foo/', '/xyz', '/xyz/bar'],
  ['/foo/bar', '/foo/', '/xyz/', '/xyz/bar'],
  ['/foo', '/foo', '/xyz', '/xyz'],
  ['/foo/', '/foo', '/xyz', '/xyz/'],
  ['/foo/bar', '/foo', '', '/bar'],
  ['/foo/', '/foo', '', '/'],
  ['/foo', '/foo', '', '/'],
  ['/foo/', '/foo', '/', '/'],
  ['/foo', '/foo', '/', '/'],
] as const)
  test(`${path} with ${prefix} replaced by "${replacement}" is ${result}`, () => {
    const route = { path: { type: 'Prefix', value: prefix } } as const
    assert.equal(withPathChange(`${path}?q`, { type: 'ReplacePrefixMatch', value: replacement }, route), `${result}?q`)
  })

test('a redirect changes what it names, and leaves out a port that goes without saying', () => {
  const from = { scheme: 'http', host: 'a.example:8080', target: '/x?y', port: 8080 }
  const route = { path: { type: 'Prefix', value: '/' } } as const
  const locate = (redirect: object) => redirectLocation({ status: 302, ...redirect }, from, route)
  assert.equal(locate({ scheme: 'https' }), 'https://a.example/x?y')
  assert.equal(locate({ hostname: 'b.example' }), 'http://b.example:8080/x?y')
  assert.equal(locate({ hostname: 'b.example', port: 80, path: { type: 'ReplaceFullPath', value: '/z' } }), 'http://b.example/z?y')
})

test('backends get their share', () => {
  const backends = [
    { backend: 'a', weight: 1 },
    { backend: 'b', weight: 0 },
    { backend: 'c', weight: 3 },
  ]
  const chosen = [0, 0.24, 0.25, 0.99].map((dice) => chooseWeighted(backends, dice)?.backend)
  assert.deepEqual(chosen, ['a', 'a', 'c', 'c'])
  assert.equal(chooseWeighted([{ backend: 'a', weight: 0 }], 0), undefined)
  assert.equal(chooseWeighted([], 0), undefined)
})

test('dots are resolved before a route is looked for, and may not lead above the root', () => {
  for (const [path, resolved] of [
    ['/a/./b', '/a/b'],
    ['/a/../b', '/b'],
    ['/a/%2e%2E/b', '/b'],
    ['/a/..', '/'],
    ['/a/b/..', '/a/'],
    ['/..', undefined],
    ['/a/../..', undefined],
    ['/.well-known/x', '/.well-known/x'],
    ['/a..b', '/a..b'],
  ] as const)
    assert.equal(resolvedPath(path), resolved, path)
})
