/** Requests on the whole road through the server, in one process and in virtual time. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import type { V1Role } from '#api/rbac/v1/types.gen.ts'
import { Scheme } from '#api/scheme.ts'
import { alwaysAllow } from '#apiserver/authz/chain.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { ApiServer } from '#apiserver/server.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

async function startServer(t: TestContext, ...plurals: string[]) {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const server = new ApiServer({
    ...{ clock, random: seededRandom(1), logger: silentLogger, isEnabled: () => true, store, version: {}, serverAddress: () => '' },
    scheme: new Scheme(builtInKinds.filter(({ plural }) => plurals.includes(plural))),
    authenticator: () => ({ authenticate: () => ({ user: { name: 'jane', groups: ['system:authenticated'], extra: {} } }) }),
    authorizer: () => alwaysAllow,
    admissionPlugins: () => [],
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
    return { status: answer.status, headers: answer.headers, body: JSON.parse(Buffer.from(answer.body ?? []).toString()) }
  }
  return { clock, ask }
}

test('an apply that changes nothing writes nothing, though other owners have come since and the clock went on', async (t) => {
  const { clock, ask } = await startServer(t, 'roles')
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
  const { ask } = await startServer(t, 'pods')
  const many = <T>(length: number, item: T) => Array.from({ length }, () => item)
  const container = { name: 'c', image: 'i', env: many(60_000, { name: 'A' }), ports: many(1_000, { containerPort: 80 }) }
  const { status, headers } = await ask('POST', '/api/v1/namespaces/ns/pods', {
    metadata: { name: 'p' },
    spec: { containers: [container] },
  })
  assert.equal(status, 201)
  assert.match(String(headers['warning']), /duplicate port definition|hides previous definition/)
})
