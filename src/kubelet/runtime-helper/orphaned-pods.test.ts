import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigMap, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeMounts } from '#base/mounts.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'

const skip = cannotMount
const podDirectory = (node: TestNode, { metadata: { uid = '' } }: V1Pod) => join(node.root, 'pods', uid)

const aPod = (node: TestNode, name: string) =>
  node.create(
    {
      serviceAccountName: 'default',
      volumes: [
        { name: 'scratch', emptyDir: { medium: 'Memory' } },
        { name: 'settings', configMap: { name: 'c' } },
        { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] } },
      ],
      containers: [
        {
          name: 'app',
          image: 'app:1',
          volumeMounts: [
            { name: 'scratch', mountPath: '/scratch', subPath: 'part' },
            { name: 'settings', mountPath: '/settings' },
            { name: 'token', mountPath: '/token' },
          ],
        },
      ],
    },
    { name },
  )

async function aNode() {
  const node = await TestNode.start()
  await node.cluster.create(ServiceAccount, { metadata: { name: 'default', namespace: 'default' } } as V1ServiceAccount)
  await node.cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: { key: 'one' } })
  return node
}

test('a token is renewed in the volume in time, while the pod runs', { skip }, async () => {
  await using node = await aNode()
  const pod = await aPod(node, 'web')
  await node.sandbox(pod)
  const plan = await node.container(pod)
  const first = await node.read(plan, '/token/token')
  await node.cluster.advance({ seconds: 460 })
  await node.settle()
  assert.equal(await node.read(plan, '/token/token'), first)
  await node.cluster.advance({ seconds: 21 })
  await node.settle()
  const second = await node.read(plan, '/token/token')
  assert.notEqual(second, first)
  await node.cluster.advance({ seconds: 480 })
  await node.settle()
  assert.notEqual(await node.read(plan, '/token/token'), second)
  assert.deepEqual(node.events, [])
  await node.now(node.runtimeHelper.cleanUp(pod))
  await node.cluster.advance({ hours: 1 })
  assert.deepEqual(await fs.readdir(join(node.root, 'pods')), [])
})

test('a later run of the agent keeps the files of running pods up to date, and removes what is left of others', { skip }, async () => {
  await using node = await aNode()
  const [stays, goes] = [await aPod(node, 'stays'), await aPod(node, 'goes')]
  for (const pod of [stays, goes]) {
    await node.sandbox(pod)
    await node.container(pod)
  }
  const settings = join(podDirectory(node, stays), 'volumes/kubernetes.io~configmap/settings/key')
  node.runtimeHelper.stop()
  await node.cluster.change(ConfigMap, 'default', 'c', (object) => {
    object.data = { key: 'two' }
  })
  await node.settle()
  assert.equal(await fs.readFile(settings, 'utf8'), 'one')

  const later = await node.restarted()
  await node.now(later.resume([stays]))
  await node.settle()
  assert.equal(await fs.readFile(settings, 'utf8'), 'two')
  assert.deepEqual(await fs.readdir(join(node.root, 'pods')), [stays.metadata.uid])
  assert.deepEqual(await fs.readdir(join(node.root, 'logs')), [`default_stays_${stays.metadata.uid}`])
  assert.ok((await nodeMounts.below(node.root)).every((place) => place.startsWith(podDirectory(node, stays))))
  await node.cluster.change(ConfigMap, 'default', 'c', (object) => {
    object.data = { key: 'three' }
  })
  await node.settle()
  assert.equal(await fs.readFile(settings, 'utf8'), 'three')
})

test('a pod of which nothing but its uid is known is taken down as well', { skip }, async () => {
  await using node = await aNode()
  const pod = await aPod(node, 'web')
  await node.sandbox(pod)
  await node.container(pod)
  await fs.mkdir(join(node.root, 'logs', 'of-somebody-else'))
  await node.now(
    node.runtimeHelper.cleanUp({ metadata: { uid: pod.metadata.uid ?? '', name: '', namespace: '' }, spec: { containers: [] } }),
  )
  assert.deepEqual(await fs.readdir(join(node.root, 'pods')), [])
  assert.deepEqual(await fs.readdir(join(node.root, 'logs')), ['of-somebody-else'])
  for (const uid of ['', '.', '..', '../host', 'a/b']) {
    await node.now(node.runtimeHelper.cleanUp({ metadata: { uid, name: '', namespace: '' }, spec: { containers: [] } }))
  }
  assert.deepEqual((await fs.readdir(node.root)).sort(), ['logs', 'pods'])
})

test('a pod that has ended gives its volumes back, and keeps its logs and last words', { skip }, async () => {
  await using node = await aNode()
  const pod = await aPod(node, 'web')
  await node.sandbox(pod)
  const plan = await node.container(pod)
  await fs.writeFile(plan.terminationMessageFile ?? '', 'done')
  for (let count = 0; count < 2; count++) await node.now(node.runtimeHelper.finish(pod))
  assert.deepEqual(await nodeMounts.below(node.root), [])
  assert.deepEqual((await fs.readdir(podDirectory(node, pod))).sort(), ['containers', 'etc-hosts'])
  assert.equal(await fs.readFile(plan.terminationMessageFile ?? '', 'utf8'), 'done')
  assert.equal((await fs.readdir(join(node.root, 'logs'))).length, 1)
  // Nothing is watched or renewed for it any more.
  await node.cluster.client.delete(ConfigMap, { namespace: 'default', name: 'c' })
  await node.cluster.advance({ hours: 1 })
  assert.deepEqual(node.events, [])
})

test('what cannot be taken off is not removed, and all is gone once it can', { skip }, async () => {
  const state = { isBusy: true }
  await using node = await TestNode.start({
    mounts: { ...nodeMounts, unmount: (path) => (state.isBusy ? Promise.reject(new Error('target is busy')) : nodeMounts.unmount(path)) },
  })
  const host = join(node.root, 'host')
  await fs.mkdir(host)
  await fs.writeFile(join(host, 'note'), 'precious')
  const pod = await node.create({
    volumes: [{ name: 'h', hostPath: { path: node.root } }],
    containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'h', mountPath: '/h', subPath: 'host' }] }],
  })
  await node.sandbox(pod)
  await node.container(pod)
  await assert.rejects(node.now(node.runtimeHelper.cleanUp(pod)), /busy/)
  await node.now(node.runtimeHelper.resume([]))
  assert.equal(await fs.readFile(join(host, 'note'), 'utf8'), 'precious')
  assert.match(String(node.log.at(-1)?.message), /failed to remove orphaned pod directory/)
  state.isBusy = false
  await node.now(node.runtimeHelper.cleanUp(pod))
  assert.equal(await fs.readFile(join(host, 'note'), 'utf8'), 'precious')
  assert.deepEqual(await nodeFiles.list(join(node.root, 'pods')), [])
})
