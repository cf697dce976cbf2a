/** Requests on the whole road through the server, in one process and in virtual time. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import type { V1Role } from '#api/rbac/v1/types.gen.ts'
import { Scheme } from '#api/scheme.ts'
import { alwaysAllow } from '#apiserver/authz/chain.ts'
import { defaultLimits } from '#apiserver/fair-use/limits.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { ApiServer, type ApiServerOptions } from '#apiserver/server.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

type Chosen = Partial<Pick<ApiServerOptions, 'fairUse' | 'memoryLimitBytes' | 'metrics' | 'authenticator'>>

async function startServer(t: TestContext, plurals: string[], chosen: Chosen = {}) {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const server = new ApiServer({
    ...{ clock, random: seededRandom(1), logger: silentLogger, isEnabled: () => true, store, version: {}, serverAddress: () => '' },
    scheme: new Scheme(builtInKinds.filter(({ plural }) => plurals.includes(plural))),
    authenticator: () => ({ authenticate: () => ({ user: { name: 'jane', groups: ['system:authenticated'], extra: {} } }) }),
    authorizer: () => alwaysAllow,
    admissionPlugins: () => [],
    ...chosen,
  })
  await server.start()
  t.after(async () => {
    server.stop()
    await store.close()
  })
  const connection = { isEncrypted: true, remoteAddress: '127.0.0.1', peerCertificate: () => undefined, destroy: () => {} }
  const send = inProcess(server.handler.handle, connection as never)
  const ask = async (method: string, target: string, body: object, contentType = 'application/json') => {
    const answer = await send({ method, target, headers: { 'content-type': contentType }, body: JSON.stringify(body) })
    const text = Buffer.from(answer.body ?? []).toString()
    return { status: answer.status, headers: answer.headers, body: text.startsWith('{') ? JSON.parse(text) : text }
  }
  return { clock, ask }
}

test('an apply that changes nothing writes nothing, though other owners have come since and the clock went on', async (t) => {
  const { clock, ask } = await startServer(t, ['roles'])
  const apply = async (manager: string, labels: Record<string, string>, rules?: V1Role['rules']) => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'r', labels }, rules }
    const target = `/apis/rbac.authorization.k8s.io/v1/namespaces/ns/roles/r?fieldManager=${manager}&force=true`
    const { status, body } = await ask('PATCH', target, role, 'application/apply-patch+yaml')
    assert.ok(status === 200 || status === 201, JSON.stringify(body))
    return (body as V1Role).metadata
  }
  await apply('first', { owner: 'first', keep: 'yes' }, [])
  await clock.advance({ seconds: 5 })
  const before = await apply('second', { owner: 'second' })
  await clock.advance({ seconds: 5 })
  // An empty list reads back as null, so that the merge alone takes it for a change.
  const after = await apply('first', { keep: 'yes' }, [])
  assert.deepEqual(after, before)
})

test('a pod of a megabyte that is warned of some hundred thousand times is answered', async (t) => {
  const { ask } = await startServer(t, ['pods'])
  const many = <T>(length: number, item: T) => Array.from({ length }, () => item)
  const container = { name: 'c', image: 'i', env: many(29_000, { name: 'A' }), ports: many(1_000, { containerPort: 80 }) }
  const { status, headers } = await ask('POST', '/api/v1/namespaces/ns/pods', {
    metadata: { name: 'p' },
    spec: { containers: [container] },
  })
  assert.equal(status, 201)
  assert.match(String(headers['warning']), /duplicate port definition|hides previous definition/)
})

test('limits of fair use are told with their flags: objects of a namespace, lists without pages, entries', async (t) => {
  const limits = {
    ...defaultLimits,
    objectsPerNamespace: 3,
    listItems: 2,
    entries: { inOne: 5000, inAll: 6000 },
  }
  const { ask } = await startServer(t, ['configmaps'], { fairUse: limits })
  const path = '/api/v1/namespaces/ns/configmaps'
  const create = (name: string, data: object = {}) => ask('POST', path, { metadata: { name }, data })
  for (const name of ['a', 'b', 'c']) assert.equal((await create(name)).status, 201)
  const refused = async (status: number, words: RegExp, asked: ReturnType<typeof ask>) => {
    const answer = await asked
    assert.equal(answer.status, status)
    assert.match(answer.body.message, words)
  }
  await refused(403, /--max-objects-per-namespace is 3/, create('d'))
  await refused(413, /--max-list-items is 2; ask for pages/, ask('GET', path, {}))
  assert.equal((await ask('GET', `${path}?limit=2`, {})).body.items.length, 2)
  const keys = Object.fromEntries(Array.from({ length: 5001 }, (_, index) => [`k${index}`, 'v']))
  await refused(413, /a list or map holds more than 5000 entries/, ask('PUT', `${path}/a`, { metadata: { name: 'a' }, data: keys }))
})

test('for want of memory requests get 429, lists after they have waited for room, and those of admins are served', async (t) => {
  const group = { current: 'system:authenticated' }
  const { clock, ask } = await startServer(t, ['configmaps'], {
    // Every process has more.
    memoryLimitBytes: 1,
    authenticator: () => ({ authenticate: () => ({ user: { name: 'jane', groups: [group.current], extra: {} } }) }),
  })
  const path = '/api/v1/namespaces/ns/configmaps'
  const { status, headers, body } = await ask('GET', `${path}/a`, {})
  assert.deepEqual([status, headers['retry-after']], [429, '1'])
  assert.match(body, /memory/)
  const startedMs = clock.now()
  const list = await clock.during(ask('GET', path, {}))
  assert.equal(list.status, 429)
  assert.ok(clock.now() - startedMs >= 5000)
  group.current = 'system:masters'
  assert.equal((await ask('GET', `${path}/a`, {})).status, 404)
  assert.equal((await clock.during(ask('GET', path, {}))).status, 200)
})

test('every limit is shown among the metrics', async (t) => {
  const metrics = new Metrics()
  await startServer(t, ['configmaps'], { metrics, memoryLimitBytes: 2 ** 33 })
  const shown = [...metrics.text().matchAll(/^apiserver_fair_use_limit\{limit="(\w+)"\}/gm)].map(([, limit]) => limit)
  const known = ['body_bytes', 'objects_per_namespace', 'watches_per_client', 'connections_per_client', 'list_items']
  const others = ['entries_in_one', 'entries_in_all', 'cel_call_budget', 'cel_request_budget', 'memory_bytes', 'request_seconds']
  assert.deepEqual(shown.toSorted(), [...known, ...others].toSorted())
})

test('a patch that makes a large object unreadable is refused with a part of it', async (t) => {
  const { ask } = await startServer(t, ['configmaps'])
  const target = '/api/v1/namespaces/ns/configmaps'
  assert.equal((await ask('POST', target, { metadata: { name: 'c' } })).status, 201)
  const data = { a: 1, fill: 'x'.repeat(1_000_000) }
  for (const type of ['merge', 'strategic-merge']) {
    const { status, body } = await ask('PATCH', `${target}/c`, { data }, `application/${type}-patch+json`)
    assert.equal(status, 422)
    assert.ok(JSON.stringify(body).length < 500_000, `${JSON.stringify(body).length} characters`)
    assert.match(body.message, /^ "" is invalid: patch: Invalid value: .*x\.\.\.": /s)
  }
})

test('a query of thousands of parameters is read, one without end is refused', async (t) => {
  const { ask } = await startServer(t, ['configmaps'])
  for (const [name, team] of [
    ['a', 'c'],
    ['b', 'b'],
  ]) {
    const made = await ask('POST', '/api/v1/namespaces/ns/configmaps', { metadata: { name, labels: { team } } })
    assert.equal(made.status, 201)
  }
  const listed = (parameters: string) => ask('GET', `/api/v1/namespaces/ns/configmaps?${parameters}`, {})
  const some = await listed(`${'x=y&'.repeat(9000)}labelSelector=team+in+(b)`)
  assert.deepEqual(
    some.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
    ['b'],
  )
  const { status, body } = await listed('x&'.repeat(1_000_000))
  assert.equal(status, 400)
  assert.match(body.message, /more than 10000 query parameters/)
})
