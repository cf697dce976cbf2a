import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineKind } from '#api/kind.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { ServedKinds } from '#client/served-kinds.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

type Widget = KubernetesObject & { data?: Record<string, string> }

const address = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets' }
const Widgets = defineKind<Widget>(address)
/** Any type will do for the schema. */
const definition = { ...Widgets, storagePath: 'example.com/widgets', schema: 'io.k8s.api.core.v1.ConfigMap' }

async function statusOf(attempt: Promise<unknown>): Promise<number | undefined> {
  return attempt.then(
    () => undefined,
    (error: { status?: { code?: number } }) => error.status?.code,
  )
}

test('a kind is served and discovered as soon as the scheme has it, and gone when the scheme has not', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client } = cluster
  const { scheme } = cluster.server.server
  const kinds = new ServedKinds(client)
  assert.equal(await statusOf(client.list(Widgets)), 404)

  scheme.add(definition)
  await client.create(Widgets, { metadata: { namespace: 'default', name: 'one' }, data: { a: 'b' } })
  assert.equal((await client.list(Widgets)).items.length, 1)
  await kinds.refresh()
  assert.equal(kinds.scheme.of({ apiVersion: 'example.com/v1', kind: 'Widget' })?.plural, 'widgets')

  scheme.remove(definition)
  assert.equal(await statusOf(client.list(Widgets)), 404)
  await kinds.refresh()
  assert.equal(kinds.scheme.group('example.com'), undefined)

  // What was stored is still there.
  scheme.add(definition)
  assert.deepEqual((await client.get(Widgets, 'default', 'one')).data, { a: 'b' })
})

test('watches end when their kind goes, and when it is served in another way', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { client, clock } = cluster
  const { scheme } = cluster.server.server
  scheme.add(definition)
  const seen: string[] = []
  const follow = async (): Promise<void> => {
    const { resourceVersion = '' } = (await client.list(Widgets)).metadata ?? {}
    for await (const { type, object } of client.watch(Widgets, { resourceVersion, signal: new AbortController().signal }))
      seen.push(`${type} ${object.metadata?.name}`)
    seen.push('end')
  }
  const first = follow()
  await clock.settle()
  await client.create(Widgets, { metadata: { namespace: 'default', name: 'one' } })
  await clock.settle()
  scheme.add({ ...definition, shortNames: ['wd'] })
  await first
  assert.deepEqual(seen, ['ADDED one', 'end'])

  const second = follow()
  await clock.settle()
  await client.create(Widgets, { metadata: { namespace: 'default', name: 'two' } })
  await clock.settle()
  scheme.remove(definition)
  await second
  assert.deepEqual(seen, ['ADDED one', 'end', 'ADDED two', 'end'])
})
