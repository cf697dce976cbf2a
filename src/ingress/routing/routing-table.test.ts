import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defined } from '#base/defined.ts'
import { seededRandom } from '#base/random.ts'
import { hasPathPrefix } from '#ingress/routing/request-path.ts'
import type { PathMatch, Route, Site } from '#ingress/routing/route.ts'
import { RoutingTable } from '#ingress/routing/routing-table.ts'
import { TooLongToMatch } from '#ingress/routing/site-matcher.ts'

const route = (name: string, type: PathMatch['type'], value: string, more: Partial<Route> = {}): Route => ({
  ...{ name, path: { type, value }, order: name, backends: [] },
  ...more,
})
const site = (host: string, routes: readonly Route[], more: Partial<Site> = {}): Site => ({
  ...{ listener: 'http', listenerHost: '', host, wildcard: 'label', routes },
  ...more,
})
function tableOf(...sites: Site[]) {
  const table = new RoutingTable()
  for (const each of sites) table.set(each)
  return (
    url: string,
    { method = 'GET', headers = {}, listener = 'http' }: { method?: string; headers?: Record<string, string>; listener?: string } = {},
  ) => {
    const [, host = '', path = '', query = ''] = /^([^/]*)(\/[^?]*)(\?.*)?$/.exec(url) ?? []
    return table.find(listener, host, { method, path, query, header: (name) => headers[name] })?.name
  }
}

// The table of examples in the documentation of Ingress.
for (const [type, path, asked, matches] of [
  ['Prefix', '/', '/anything', true],
  ['Exact', '/foo', '/foo', true],
  ['Exact', '/foo', '/bar', false],
  ['Exact', '/foo', '/foo/', false],
  ['Exact', '/foo/', '/foo', false],
  ['Prefix', '/foo', '/foo', true],
  ['Prefix', '/foo', '/foo/', true],
  ['Prefix', '/foo/', '/foo', true],
  ['Prefix', '/foo/', '/foo/', true],
  ['Prefix', '/aaa/bb', '/aaa/bbb', false],
  ['Prefix', '/aaa/bbb', '/aaa/bbb', true],
  ['Prefix', '/aaa/bbb/', '/aaa/bbb', true],
  ['Prefix', '/aaa/bbb', '/aaa/bbb/', true],
  ['Prefix', '/aaa/bbb', '/aaa/bbb/ccc', true],
  ['Prefix', '/aaa/bbb', '/aaa/bbbxyz', false],
  ['Prefix', '/aaa', '/ccc', false],
  ['RegularExpression', '/v[0-9]+/.*', '/v12/x', true],
  ['RegularExpression', '/v[0-9]+', '/v12/x', false],
] as const)
  test(`${type} ${path} ${matches ? 'matches' : 'does not match'} ${asked}`, () => {
    assert.equal(tableOf(site('', [route('it', type, path)]))(`a.example${asked}`), matches ? 'it' : undefined)
  })

describe('the most specific counts', () => {
  test('of paths: exact, then by pattern, then the longest prefix, then the fallback', () => {
    const ask = tableOf(
      site('', [
        route('root', 'Prefix', '/'),
        route('aaa', 'Prefix', '/aaa'),
        route('bbb', 'Prefix', '/aaa/bbb'),
        route('exact', 'Exact', '/aaa/bbb'),
        route('pattern', 'RegularExpression', '/aaa/b.*d'),
        route('fallback', 'Prefix', '/', { isFallback: true }),
      ]),
    )
    assert.deepEqual(
      ['/', '/aaa', '/aaa/ccc', '/aaa/bbb', '/aaa/bbb/c', '/aaa/bbb/d', '/aaabbb'].map((path) => ask(`h${path}`)),
      ['root', 'aaa', 'aaa', 'exact', 'bbb', 'pattern', 'root'],
    )
  })

  test('of hosts: the host itself, then a wildcard, then any; the host alone decides', () => {
    const ask = tableOf(
      site('', [route('any', 'Prefix', '/')]),
      site('*.foo.com', [route('wild', 'Prefix', '/')]),
      site('bar.foo.com', [route('exact', 'Prefix', '/only')]),
    )
    assert.equal(ask('bar.foo.com/only'), 'exact')
    assert.equal(ask('BAR.foo.com.:8080/only'), 'exact')
    assert.equal(ask('bar.foo.com/other'), undefined)
    assert.equal(ask('x.foo.com/'), 'wild')
    assert.equal(ask('foo.com/'), 'any')
    assert.equal(ask('x.y.foo.com/'), 'any', "an ingress' wildcard stands for one label")
  })

  test("a Gateway's wildcard stands for any number of labels, the longer one first", () => {
    const labels = { wildcard: 'labels' } as const
    const ask = tableOf(site('*.com', [route('com', 'Prefix', '/')], labels), site('*.foo.com', [route('foo', 'Prefix', '/')], labels))
    assert.deepEqual(
      ['a.b.foo.com/', 'a.com/', 'com/'].map((url) => ask(url)),
      ['foo', 'com', undefined],
    )
  })

  test('of listeners: the one with the host has the request, whether or not it has a route', () => {
    const ask = tableOf(
      site('a.foo.com', [route('own', 'Exact', '/own')], { listenerHost: 'a.foo.com', wildcard: 'labels' }),
      site('a.foo.com', [route('other', 'Prefix', '/')], { listenerHost: '*.foo.com', wildcard: 'labels' }),
    )
    assert.deepEqual([ask('a.foo.com/own'), ask('a.foo.com/x')], ['own', undefined])
    const empty = tableOf(site('', [route('any', 'Prefix', '/')]), site('b.com', [], { listenerHost: 'b.com', wildcard: 'labels' }))
    assert.deepEqual([empty('a.com/'), empty('b.com/')], ['any', undefined])
  })

  test('of routes for one path: a method, then more headers, then more of the query, then the order', () => {
    const header = (name: string, value: string) => ({ type: 'Exact' as const, name, value })
    const ask = tableOf(
      site('', [
        route('z-plain', 'Prefix', '/'),
        route('y-plain', 'Prefix', '/'),
        route('query', 'Prefix', '/', { query: [header('a', '1')] }),
        route('header', 'Prefix', '/', { headers: [header('X-A', '1')] }),
        route('headers', 'Prefix', '/', { headers: [header('x-a', '1'), { type: 'RegularExpression', name: 'x-b', value: '[0-9]+' }] }),
        route('method', 'Prefix', '/', { method: 'POST' }),
      ]),
    )
    assert.equal(ask('h/'), 'y-plain')
    assert.equal(ask('h/?a=1'), 'query')
    assert.equal(ask('h/?a=2&a=1'), 'y-plain', 'the first of a name counts')
    assert.equal(ask('h/?a=1', { headers: { 'x-a': '1' } }), 'header')
    assert.equal(ask('h/', { headers: { 'x-a': '1', 'x-b': '12' } }), 'headers')
    assert.equal(ask('h/', { headers: { 'x-a': '1', 'x-b': '12x' } }), 'header')
    assert.equal(ask('h/', { method: 'POST', headers: { 'x-a': '1' } }), 'method')
  })
})

test('sites come and go', () => {
  const table = new RoutingTable()
  const request = { method: 'GET', path: '/', query: '', header: () => undefined }
  table.set(site('a', [route('one', 'Prefix', '/')]))
  table.set(site('a', [route('two', 'Prefix', '/')]))
  assert.equal(table.find('http', 'a', request)?.name, 'two')
  table.set(site('a', []))
  assert.equal(table.find('http', 'a', request), undefined)
  assert.equal(table.find('https', 'a', request), undefined)
})

test('a pattern that cannot be read matches nothing', () => {
  assert.equal(tableOf(site('', [route('bad', 'RegularExpression', '(')]))('h/('), undefined)
})

test('long hosts and paths take no long time', () => {
  const ask = tableOf(site('*.foo.com', [route('it', 'Prefix', '/a/b')]))
  assert.equal(ask(`${'a.'.repeat(30_000)}foo.com/`), undefined)
  assert.equal(ask(`x.foo.com/a/b${'/'.repeat(60_000)}`), 'it')
})

test('whatever the routes and the request, the route is the one that trying all of them finds', () => {
  const random = seededRandom(7)
  const pick = <T>(list: readonly T[]): T => list[random.int(list.length)] as T
  const paths = ['/', '/a', '/a/', '/a/b', '/ab', '/a/b/c', '/b', '/b/c']
  for (let round = 0; round < 2000; round++) {
    const routes = Array.from({ length: 1 + random.int(6) }, (_, index) =>
      route(`r${index}`, pick(['Exact', 'Prefix'] as const), pick(paths), {
        ...defined({
          method: random.int(3) === 0 ? pick(['GET', 'POST']) : undefined,
          headers: random.int(3) === 0 ? [{ type: 'Exact', name: 'a', value: '1' }] : undefined,
        }),
      }),
    )
    const [method, path] = [pick(['GET', 'POST']), `${pick(paths)}${pick(['', '/', 'x', '/b'])}`]
    const headers: Record<string, string> = random.int(2) === 0 ? { a: '1' } : {}
    const rank = ({ path: { type, value }, method: asked, headers: wanted }: Route) => [
      Number(type === 'Exact'),
      value.replace(/\/+$/, '').length,
      Number(asked !== undefined),
      wanted?.length ?? 0,
    ]
    const matching = routes
      .filter((each) => (each.path.type === 'Exact' ? path === each.path.value : hasPathPrefix(path, each.path.value)))
      .filter((each) => (each.method ?? method) === method && (each.headers === undefined || headers['a'] === '1'))
      .sort((one, other) => {
        const [left, right] = [rank(one), rank(other)]
        const at = left.findIndex((value, index) => value !== right[index])
        return at === -1 ? one.order.localeCompare(other.order) : (right[at] ?? 0) - (left[at] ?? 0)
      })
    assert.equal(
      tableOf(site('', routes))(`h${path}`, { method, headers }),
      matching[0]?.name,
      JSON.stringify({ round, routes, method, path, headers }),
    )
  }
})

test('a request that is too long for the patterns of its routes is not matched at all', () => {
  const find = tableOf(
    site('', [...Array.from({ length: 50 }, () => route('costly', 'RegularExpression', '/(.*a){30}b')), route('any', 'Prefix', '/')]),
  )
  assert.equal(find('h/short'), 'any')
  assert.throws(() => find(`h/${'a'.repeat(60_000)}`), TooLongToMatch)
  assert.equal(find('h/short'), 'any')
})
