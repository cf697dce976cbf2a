import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { Scheme } from '#api/scheme.ts'
import { alwaysAllow } from '#apiserver/authz/chain.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import { ApiServer } from '#apiserver/server.ts'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

/** Creates config maps whose generated suffixes are made of these letters, one after the other, the last one for ever. */
async function startServer(t: TestContext) {
  const letters: number[] = []
  let drawn = 0
  const random = { ...seededRandom(1), int: () => letters[Math.min(Math.floor(drawn++ / 5), letters.length - 1)] ?? 0 }
  const store = new MemoryStore({ clock: systemClock })
  const server = new ApiServer({
    ...{ clock: systemClock, random, logger: silentLogger, isEnabled: () => true, store, version: {}, serverAddress: () => '' },
    scheme: new Scheme(builtInKinds.filter(({ group, plural }) => group === '' && plural === 'configmaps')),
    authenticator: () => ({ authenticate: () => undefined }),
    authorizer: () => alwaysAllow,
    admissionPlugins: () => [],
  })
  await server.start()
  t.after(async () => {
    server.stop()
    await store.close()
  })
  const registry = server.registries.named('', 'configmaps')
  return async (...suffixes: number[]) => {
    letters.splice(0, letters.length, ...suffixes)
    drawn = 0
    const { name } = await registry.create(
      { metadata: { namespace: 'ns', generateName: 'made-' } } as KubernetesObject,
      serverContext(registry.definition, 'ns'),
    )
    return name
  }
}

test('a generated name that is taken is made anew, seven times', async (t) => {
  const create = await startServer(t)
  assert.equal(await create(0), 'made-bbbbb')
  assert.equal(await create(0, 0, 0, 0, 0, 0, 0, 1), 'made-ccccc')
})

test('eight names that are taken are 409, with a time to come back', async (t) => {
  const create = await startServer(t)
  await create(0)
  await assert.rejects(create(0, 0, 0, 0, 0, 0, 0, 0, 1), (error) => {
    assert.ok(error instanceof StatusError)
    assert.deepEqual([error.status.code, error.status.details?.retryAfterSeconds], [409, 1])
    assert.match(error.message, /"made-bbbbb" already exists, the server was not able to generate a unique name for the object$/)
    return true
  })
})
