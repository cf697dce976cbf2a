import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { HttpClientRequest } from '#base/http-client.ts'
import { runKubectl } from '#cli/kubectl.ts'
import { type FakeAnswer, type FakeHost, type FakeHostOptions, fakeHost } from '#cli/testing/fake-host.ts'

const columnDefinitions = [
  { name: 'Name', type: 'string', format: 'name' },
  { name: 'Ready', type: 'string' },
  { name: 'Status', type: 'string' },
]
const row = (name: string, status: string) => ({
  cells: [name, '1/1', status],
  object: { metadata: { name, namespace: 'default', uid: name } },
})
const table = (...rows: unknown[]) => ({ kind: 'Table', metadata: { resourceVersion: '5' }, columnDefinitions, rows })
const resource = (name: string, kind: string, shortNames: string[]) => ({
  name,
  singularName: kind.toLowerCase(),
  namespaced: true,
  kind,
  verbs: ['get', 'list', 'watch', 'delete'],
  shortNames,
})

/** A cluster of two pods and a config map; remembers what was deleted. */
function cluster(options: Partial<FakeHostOptions> = {}, events: AsyncIterable<unknown> = nothing()): FakeHost & { deleted: string[] } {
  const deleted: string[] = []
  const answer = ({ path, url, method = 'GET' }: HttpClientRequest & { path: string }): FakeAnswer | undefined => {
    if (method === 'DELETE') {
      deleted.push(path)
      return { body: { kind: 'Status', status: 'Success' } }
    }
    if (path === '/api') return { body: { kind: 'APIVersions', versions: ['v1'] } }
    if (path === '/apis') return { body: { kind: 'APIGroupList', groups: [] } }
    if (path === '/api/v1') return { body: { resources: [resource('pods', 'Pod', ['po']), resource('configmaps', 'ConfigMap', ['cm'])] } }
    if (url.includes('watch=true')) return { body: '', events: path.endsWith('/pods') ? events : nothing() }
    if (path.endsWith('/namespaces/default/pods')) return { body: table(row('one', 'Running'), row('two', 'CrashLoopBackOff')) }
    if (path.endsWith('/configmaps')) return { body: table(row('settings', '')) }
    if (path.endsWith('/pods/two')) return { body: { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'two', namespace: 'default' } } }
    return undefined
  }
  const host = fakeHost({ answer, homeDirectory: mkdtempSync(join(tmpdir(), 'ui-')), ...options })
  return Object.assign(host, { deleted })
}

async function* nothing(): AsyncGenerator<unknown> {}

/** Polls; a view that never shows it fails with what it shows. */
async function shows(host: FakeHost, text: string | RegExp): Promise<void> {
  const isShown = () => host.screen().some((line) => (typeof text === 'string' ? line.includes(text) : text.test(line)))
  for (let turn = 0; turn < 3000 && !isShown(); turn++) await pause(20)
  assert.ok(isShown(), `${text} is not on the screen:\n${host.screen().join('\n')}\n${host.errors()}`)
}

test('the view lists pods, follows the watch, and ends with q', async () => {
  const change = Promise.withResolvers<void>()
  const host = cluster(
    {},
    (async function* () {
      await change.promise
      yield { type: 'ADDED', object: { ...table(row('three', 'Pending')), columnDefinitions: undefined } }
    })(),
  )
  const code = runKubectl(['ui'], host)
  await shows(host, /one +1\/1 +Running/)
  await shows(host, 'CrashLoopBackOff')
  change.resolve()
  await shows(host, /three +1\/1 +Pending/)
  host.press('q')
  assert.equal(await code, 0)
  assert.match(host.output(), /\?1049l$|\?1049l/)
})

test('a filter leaves what matches, and a colon opens another kind', async () => {
  const host = cluster()
  const code = runKubectl(['ui'], host)
  await shows(host, 'two')
  host.press('/crash\r')
  await shows(host, /1 matching \/crash/)
  host.press('\u001b')
  await shows(host, / pods · default · 2/)
  host.press(':cm\r')
  await shows(host, 'settings')
  host.press(':nosuch\r')
  await shows(host, 'doesn\'t have a resource type "nosuch"')
  host.press('q')
  assert.equal(await code, 0)
})

test('deleting asks first', async () => {
  const host = cluster()
  const code = runKubectl(['ui'], host)
  await shows(host, 'two')
  host.press('j\u0004')
  await shows(host, 'delete pod/two? Type y:')
  host.press('n\r')
  await shows(host, 'nothing was deleted')
  assert.deepEqual(host.deleted, [])
  host.press('\u0004y\r')
  await shows(host, 'pod "two" deleted')
  assert.deepEqual(host.deleted, ['/api/v1/namespaces/default/pods/two'])
  host.press('q')
  await code
})

test('a click selects a line, and y shows it as YAML', async () => {
  const host = cluster()
  const code = runKubectl(['ui'], host)
  await shows(host, 'two')
  host.press('\u001b[<0;5;4M')
  host.press('y')
  await shows(host, 'yaml pod/two')
  await shows(host, 'name: two')
  host.press('q')
  await shows(host, / pods · default/)
  host.press('\u0003')
  assert.equal(await code, 0)
})

test('without a terminal there is -o json, and a word about it', async () => {
  const host = cluster({ isTerminal: false })
  assert.equal(await runKubectl(['ui'], host), 1)
  assert.match(host.errors(), /needs a terminal/)
  assert.equal(await runKubectl(['ui', '-o', 'json'], host), 0)
  const shown = JSON.parse(host.output()) as { rows: { name: string }[] }
  assert.deepEqual(
    shown.rows.map(({ name }) => name),
    ['one', 'two'],
  )
})

test('get --watch redraws the table for people, and adds lines for scripts', async () => {
  const added = async function* () {
    yield { type: 'MODIFIED', object: table(row('one', 'Completed')) }
  }
  const people = cluster({ isForPeople: true }, added())
  const first = runKubectl(['get', 'pods', '--watch'], people)
  for (let turn = 0; turn < 3000 && !people.output().includes('Completed'); turn++) await pause(20)
  people.interrupt()
  await first
  assert.ok(people.output().includes('\u001b[32mCompleted'), people.output())
  const scripts = cluster({}, added())
  const second = runKubectl(['get', 'pods', '--watch'], scripts)
  for (let turn = 0; turn < 3000 && !scripts.output().includes('Completed'); turn++) await pause(20)
  scripts.interrupt()
  await second
  assert.ok(!scripts.output().includes('\u001b'), scripts.output())
  assert.match(scripts.output(), /Running[\s\S]*Completed/)
})

test('a terminal of any size shows what is selected, and asks there', async () => {
  for (const size of [
    { columns: 1, rows: 1 },
    { columns: 8, rows: 2 },
    { columns: 30, rows: 3 },
    { columns: 30, rows: 4 },
  ]) {
    const host = cluster({ size })
    const code = runKubectl(['ui'], host)
    const first = size.columns === 1 ? /^…$/ : /^one/
    await shows(host, first)
    host.press('j')
    await shows(host, size.columns === 1 ? first : /^two/)
    host.press('\u0004')
    await shows(host, size.columns === 1 ? first : /^delete /)
    host.press('y\r')
    for (let turn = 0; turn < 3000 && host.deleted.length === 0; turn++) await pause(20)
    assert.deepEqual(host.deleted, ['/api/v1/namespaces/default/pods/two'])
    for (const line of host.screen()) assert.ok(line.length <= size.columns, `${line} is wider than ${size.columns}`)
    assert.ok(host.screen().length <= size.rows, host.screen().join('\n'))
    host.press('q')
    assert.equal(await code, 0)
  }
})

test('the wheel and a second click work as on other lists', async () => {
  const host = cluster()
  const code = runKubectl(['ui'], host)
  await shows(host, 'two')
  host.press('\u001b[<65;5;4M')
  host.press('y')
  await shows(host, 'yaml pod/two')
  host.press('q')
  await shows(host, / pods · default/)
  host.press('\u001b[<0;5;4M\u001b[<0;5;4m')
  await shows(host, 'describe pod/two')
  host.press('\u001b')
  await shows(host, / pods · default/)
  host.press('f')
  await shows(host, 'forward to pod/two, LOCAL:REMOTE:')
  host.press('many\r')
  await shows(host, 'many are no ports')
  host.press('q')
  assert.equal(await code, 0)
})

test('a watch that breaks off is begun again, and says so meanwhile', async () => {
  let watches = 0
  const events: AsyncIterable<unknown> = {
    async *[Symbol.asyncIterator]() {
      watches++
      if (watches === 1) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      yield { type: 'ADDED', object: { ...table(row('late', 'Running')), columnDefinitions: undefined } }
    },
  }
  const host = cluster({}, events)
  const code = runKubectl(['ui'], host)
  await shows(host, /late +1\/1/)
  assert.equal(watches, 2)
  host.press('q')
  assert.equal(await code, 0)
})
