/** A client in trouble: a full disk, a slow server, a crowd of objects, a list that expires. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import type { HttpClientRequest } from '#base/http-client.ts'
import type { Host } from '#cli/host.ts'
import { runKubectl } from '#cli/kubectl.ts'
import { type FakeAnswer, type FakeHost, fakeHost } from '#cli/testing/fake-host.ts'

const home = mkdtempSync(join(tmpdir(), 'hard times '))
after(() => rmSync(home, { recursive: true, force: true }))

const pods = { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: ['get', 'list', 'watch'], shortNames: ['po'] }
const columnDefinitions = [{ name: 'Name', type: 'string', format: 'name' }]

/** One that has pods; the rest is as a test says. */
function server(list: (query: URLSearchParams) => FakeAnswer, homeDirectory = mkdtempSync(join(home, 'home-'))): FakeHost {
  const answer = ({ path, url }: HttpClientRequest & { path: string }): FakeAnswer | undefined => {
    if (path === '/api') return { body: { kind: 'APIVersions', versions: ['v1'] } }
    if (path === '/apis') return { body: { kind: 'APIGroupList', groups: [] } }
    if (path === '/api/v1') return { body: { resources: [pods] } }
    return path.endsWith('/pods') ? list(new URL(url).searchParams) : undefined
  }
  return fakeHost({ answer, homeDirectory, isTerminal: false })
}

const table = (first: number, count: number, metadata: object = {}) => ({
  kind: 'Table',
  metadata: { resourceVersion: '5', ...metadata },
  columnDefinitions,
  rows: Array.from({ length: count }, (_, index) => ({
    cells: [`pod-${first + index}`],
    object: { metadata: { name: `pod-${first + index}`, namespace: 'default' } },
  })),
})

test('ten thousand objects come in pages of five hundred, and every one is printed', async () => {
  const asked: string[] = []
  const host = server((query) => {
    const start = Number(query.get('continue') ?? 0)
    asked.push(query.get('limit') ?? '')
    return { body: table(start, 500, start + 500 < 10_000 ? { continue: String(start + 500), remainingItemCount: 9_500 - start } : {}) }
  })
  assert.equal(await runKubectl(['get', 'pods'], host), 0, host.errors())
  const lines = host.output().trimEnd().split('\n')
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [10_001, 'NAME', 'pod-9999'])
  assert.deepEqual([asked.length, new Set(asked)], [20, new Set(['500'])])
})

test('a disk that is full, or a home that cannot be written to, costs nothing but the next question', async () => {
  for (const code of ['ENOSPC', 'EROFS', 'EACCES']) {
    const directory = mkdtempSync(join(home, 'full-'))
    let tries = 0
    const refuse = async () => {
      tries++
      throw Object.assign(new Error(code), { code })
    }
    const files = { ...nodeFiles, append: refuse, rename: refuse, ...(code === 'ENOSPC' ? {} : { makeDirectory: refuse }) }
    const host = Object.assign(
      server(() => ({ body: table(0, 1) }), directory),
      { files } as Partial<Host>,
    )
    assert.equal(await runKubectl(['get', 'pods'], host), 0, host.errors())
    assert.equal(host.output(), 'NAME\npod-0\n')
    assert.equal(host.errors(), '')
    assert.ok(tries > 0)
    assert.ok(!existsSync(join(directory, '.kube', 'cache', 'discovery', 'localhost_8080', 'aggregated.json')))
  }
})

test('what was kept and is cut short is asked for again', async () => {
  const directory = mkdtempSync(join(home, 'cut-'))
  const host = () => server(() => ({ body: table(0, 1) }), directory)
  assert.equal(await runKubectl(['get', 'pods'], host()), 0)
  const kept = join(directory, '.kube', 'cache', 'discovery', 'localhost_8080', 'aggregated.json')
  assert.ok(existsSync(kept))
  await nodeFiles.write(kept, '{"resources": [')
  const second = host()
  assert.equal(await runKubectl(['get', 'po'], second), 0, second.errors())
  assert.equal(second.output(), 'NAME\npod-0\n')
})

test('a server that does not answer in time is given up with --request-timeout', async () => {
  const directory = mkdtempSync(join(home, 'slow-'))
  const host = server(() => ({ body: table(0, 1) }), directory)
  const http: Host['http'] = (options) => {
    const quick = host.http(options)
    return {
      request: (request) =>
        request.url.includes('/pods')
          ? new Promise((_, reject) => request.signal?.addEventListener('abort', () => reject(request.signal?.reason)))
          : quick.request(request),
      [Symbol.dispose]() {},
    }
  }
  const slow = { ...host, http }
  assert.equal(await runKubectl(['get', 'pods', '--request-timeout=50ms'], slow), 1)
  assert.match(host.errors(), /Client\.Timeout exceeded while awaiting headers/)
})

test('a list whose pages expire is told as the server tells it, after what had come', async () => {
  const message = 'The provided continue parameter is too old'
  const expired = { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410, message }
  const host = server((query) =>
    query.get('continue') === 'old' ? { status: 410, body: expired } : { body: table(0, 500, { continue: 'old' }) },
  )
  assert.equal(await runKubectl(['get', 'pods'], host), 1)
  assert.equal(host.output().trimEnd().split('\n').length, 501)
  assert.equal(host.errors(), `Error from server (Expired): ${message}\n`)
})
