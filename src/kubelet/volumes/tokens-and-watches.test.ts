import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Pod, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap, V1Pod, V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { silentLogger } from '#base/log.ts'
import { Client } from '#client/client.ts'
import type { Transport } from '#client/transport.ts'
import { ServiceAccountTokens } from '#kubelet/volumes/service-account-tokens.ts'
import { WatchedObjects } from '#kubelet/volumes/watched-objects.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

/** A node's client, with the requests it makes, which can be made to fail. */
function aClient(cluster: FakeCluster) {
  const transport = cluster.transportAs('system:node:n1', ['system:nodes'])
  const [requests, state] = [[] as string[], { isCut: false }]
  const recorded: Transport = {
    ...transport,
    send(request) {
      requests.push(`${request.method} ${request.target}`)
      return state.isCut ? Promise.reject(new Error('the network is down')) : transport.send(request)
    },
  }
  return { client: new Client({ transport: recorded, userAgent: 'kubelet' }), requests, state }
}

const aPod = (name: string, configMap: string): V1Pod =>
  ({
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: 'n1',
      serviceAccountName: 'robot',
      containers: [{ name: 'app', image: 'app:1' }],
      volumes: [
        { name: 'c', configMap: { name: configMap } },
        { name: 't', projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'vault' } }] } },
        { name: 'u', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ],
    },
  }) as V1Pod

test('tokens are kept until a fifth of their life is left, then renewed; an old one is better than none', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock, random } = cluster
  await cluster.create(ServiceAccount, { metadata: { name: 'robot', namespace: 'default' } } as V1ServiceAccount)
  const pod = await cluster.create(Pod, aPod('web', 'c'))
  const { client, requests, state } = aClient(cluster)
  const tokens = new ServiceAccountTokens({ client, clock, random, logger: silentLogger })
  const wanted = { path: 'token', audience: 'vault', expirationSeconds: 1000 }
  const uid = pod.metadata.uid ?? ''

  const first = await tokens.get(pod, wanted)
  const claims = JSON.parse(Buffer.from(first.split('.')[1] ?? '', 'base64url').toString())
  assert.deepEqual(claims.aud, ['vault'])
  assert.equal(claims.exp - claims.iat, 1000)
  assert.equal(claims['kubernetes.io'].pod.uid, uid)
  const rotatesInMs = (tokens.nextRotationMs(uid) ?? 0) - clock.now()
  assert.ok(rotatesInMs > 789_000 && rotatesInMs <= 800_000, `${rotatesInMs}`)

  await clock.advance({ seconds: 780 })
  assert.equal(await tokens.get(pod, wanted), first)
  assert.equal(requests.length, 1)
  await clock.advance({ seconds: 21 })
  const second = await tokens.get(pod, wanted)
  assert.notEqual(second, first)
  const others = new ServiceAccountTokens({ client, clock, random, logger: silentLogger })
  assert.notEqual(await others.get(pod, { path: 'token', expirationSeconds: 1000 }), second)

  await clock.advance({ seconds: 801 })
  state.isCut = true
  assert.equal(await tokens.get(pod, wanted), second)
  assert.ok((tokens.nextRotationMs(uid) ?? 0) > clock.now())
  await clock.advance({ seconds: 300 })
  await assert.rejects(tokens.get(pod, wanted), /expired and refresh failed: the network is down/)
  assert.equal(tokens.nextRotationMs(uid), clock.now() + 60_000)
  tokens.forget(uid)
  assert.equal(tokens.nextRotationMs(uid), undefined)
  await assert.rejects(tokens.get(pod, wanted), { message: 'failed to fetch token: the network is down' })
})

test('an object is watched once, by its name, while somebody uses it', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock, random } = cluster
  await cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: { a: '1' } })
  await cluster.create(Pod, aPod('web', 'c'))
  const { client, requests } = aClient(cluster)
  const heard: string[] = []
  const objects = new WatchedObjects<V1ConfigMap>({
    ...{ client, kind: ConfigMap, clock, random, logger: silentLogger },
    onChange: (user) => void heard.push(user),
  })
  objects.use('u1', 'default', new Set(['c']))
  objects.use('u2', 'default', new Set(['c']))
  assert.deepEqual((await objects.get('default', 'c')).data, { a: '1' })
  await clock.settle()
  const watches = () => requests.filter((request) => request.includes('watch=true'))
  assert.equal(watches().length, 1)
  assert.match(watches()[0] ?? '', /\/namespaces\/default\/configmaps\?.*fieldSelector=metadata\.name%3Dc/)
  assert.deepEqual(heard.splice(0), ['u1', 'u2'])

  await cluster.change(ConfigMap, 'default', 'c', (object) => {
    object.data = { a: '2' }
  })
  await clock.settle()
  assert.deepEqual(heard.splice(0), ['u1', 'u2'])
  const before = requests.length
  assert.deepEqual((await objects.get('default', 'c')).data, { a: '2' })
  assert.equal(requests.length, before)

  objects.use('u1', 'default', new Set())
  await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'c' })
  await clock.settle()
  assert.deepEqual(heard.splice(0), ['u2'])
  await assert.rejects(objects.get('default', 'c'), { message: 'configmap "c" not found' })
  objects.use('u2', '', new Set())
  await cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: { a: '3' } })
  await clock.advance({ seconds: 60 })
  assert.deepEqual(heard, [])
  assert.deepEqual((await objects.get('default', 'c')).data, { a: '3' })
  assert.equal(watches().length, 1)
  objects.stop()
})

test('an object that cannot change is not watched for long, and one the node may not see is said to be so', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const { clock, random } = cluster
  await cluster.create(ConfigMap, { metadata: { name: 'fixed', namespace: 'default' }, immutable: true, data: { a: '1' } })
  await cluster.create(ConfigMap, { metadata: { name: 'other', namespace: 'default' }, data: { a: '1' } })
  await cluster.create(Pod, aPod('web', 'fixed'))
  const { client, requests } = aClient(cluster)
  const objects = new WatchedObjects<V1ConfigMap>({
    ...{ client, kind: ConfigMap, clock, random, logger: silentLogger },
    onChange: () => {},
  })
  objects.use('u1', 'default', new Set(['fixed']))
  await clock.settle()
  assert.deepEqual((await objects.get('default', 'fixed')).data, { a: '1' })
  const before = requests.length
  await clock.advance({ minutes: 30 })
  assert.deepEqual((await objects.get('default', 'fixed')).data, { a: '1' })
  assert.equal(requests.length, before)
  await assert.rejects(objects.get('default', 'other'), /forbidden/)
  objects.stop()
})
