import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const start = (signs = true) =>
  FakeCluster.start({
    withoutNodes: true,
    controllers: ['serviceaccount-token'],
    settings: { rootCa: 'THE CA', ...defined({ signToken: signs ? (claims: object) => JSON.stringify(claims) : undefined }) },
  })

const tokenSecret = (name: string, annotations: Record<string, string> = {}): V1Secret => ({
  metadata: { namespace: 'default', name, annotations: { 'kubernetes.io/service-account.name': 'robot', ...annotations } },
  type: 'kubernetes.io/service-account-token',
})
const text = ({ data }: V1Secret, key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString()

async function withAccount(cluster: FakeCluster) {
  return cluster.create(ServiceAccount, { metadata: { namespace: 'default', name: 'robot' } })
}

test('a secret that asks for a token of a service account gets it, with the authority and the namespace', async () => {
  await using cluster = await start()
  const account = await withAccount(cluster)
  await cluster.create(Secret, tokenSecret('token'))
  await cluster.advance({ seconds: 1 })
  const secret = await cluster.get(Secret, 'default', 'token')
  assert.equal(text(secret, 'ca.crt'), 'THE CA')
  assert.equal(text(secret, 'namespace'), 'default')
  assert.equal(secret.metadata.annotations?.['kubernetes.io/service-account.uid'], account.metadata.uid)
  assert.deepEqual(JSON.parse(text(secret, 'token')), {
    iss: 'kubernetes/serviceaccount',
    'kubernetes.io/serviceaccount/namespace': 'default',
    'kubernetes.io/serviceaccount/secret.name': 'token',
    'kubernetes.io/serviceaccount/service-account.name': 'robot',
    'kubernetes.io/serviceaccount/service-account.uid': account.metadata.uid,
    sub: 'system:serviceaccount:default:robot',
  })
})

test('what is in the secret already is kept, but a changed authority is put right', async () => {
  await using cluster = await start()
  await withAccount(cluster)
  const data = { token: Buffer.from('mine').toString('base64'), 'ca.crt': Buffer.from('OLD').toString('base64'), more: 'bW9yZQ==' }
  await cluster.create(Secret, { ...tokenSecret('token'), data })
  await cluster.advance({ seconds: 1 })
  const secret = await cluster.get(Secret, 'default', 'token')
  assert.deepEqual([text(secret, 'token'), text(secret, 'ca.crt'), text(secret, 'more')], ['mine', 'THE CA', 'more'])
})

test('the secret goes with its account, also with one of the same name that is another', async () => {
  await using cluster = await start()
  await withAccount(cluster)
  await cluster.create(Secret, tokenSecret('token'))
  await cluster.create(Secret, { metadata: { namespace: 'default', name: 'other' }, type: 'Opaque' })
  await cluster.advance({ seconds: 1 })
  await cluster.client.delete(ServiceAccount, { namespace: 'default', name: 'robot' })
  await withAccount(cluster)
  await cluster.advance({ seconds: 1 })
  assert.equal(await cluster.find(Secret, 'default', 'token'), undefined)
  assert.notEqual(await cluster.find(Secret, 'default', 'other'), undefined)
})

for (const [what, annotations] of [
  ['of an account that does not exist', { 'kubernetes.io/service-account.name': 'nobody' }],
  ['of an account that is another by now', { 'kubernetes.io/service-account.uid': 'of long ago' }],
] as const) {
  test(`a secret ${what} is deleted`, async () => {
    await using cluster = await start()
    await withAccount(cluster)
    await cluster.create(Secret, tokenSecret('token', annotations))
    await cluster.advance({ seconds: 1 })
    assert.equal(await cluster.find(Secret, 'default', 'token'), undefined)
  })
}

test('without a key to sign with, secrets are left alone', async () => {
  await using cluster = await start(false)
  await withAccount(cluster)
  await cluster.create(Secret, tokenSecret('token'))
  await cluster.advance({ seconds: 1 })
  assert.equal((await cluster.get(Secret, 'default', 'token')).data, undefined)
})
