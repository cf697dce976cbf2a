import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { V1Container, V1Pod, V1Volume, V1VolumeMount } from '#api/core/v1/types.gen.ts'
import { nodeMounts } from '#base/mounts.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'

const skip = cannotMount

const aPod = (node: TestNode, volume: Omit<V1Volume, 'name'>, mount: Partial<V1VolumeMount>, container: Partial<V1Container> = {}) =>
  node.create({
    volumes: [{ name: 'v', ...volume }],
    containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'v', mountPath: '/part', ...mount }], ...container }],
  })

const volumeOf = (node: TestNode, { metadata: { uid = '' } }: V1Pod, plugin = 'empty-dir') =>
  join(node.root, 'pods', uid, 'volumes', `kubernetes.io~${plugin}`, 'v')

test('a part of a volume is made where it is not there, with the mode of the volume', { skip }, async () => {
  await using node = await TestNode.start()
  const pod = await aPod(node, { emptyDir: {} }, { subPath: 'a/b' })
  await node.sandbox(pod)
  const part = await node.seen(await node.container(pod), '/part')
  assert.equal(part, join(node.root, 'pods', pod.metadata.uid ?? '', 'volume-subpaths/v/app/0'))
  await fs.writeFile(join(part, 'note'), 'here')
  const inside = join(volumeOf(node, pod), 'a/b')
  assert.equal(await fs.readFile(join(inside, 'note'), 'utf8'), 'here')
  assert.equal((await fs.stat(inside)).mode & 0o7777, 0o777)
  // A container that starts again gets the same.
  assert.equal(await node.seen(await node.container(pod), '/part'), part)
  assert.equal((await nodeMounts.below(part)).length, 1)
})

test('a file of a config map, which a later start sees as it is then', { skip }, async () => {
  await using node = await TestNode.start()
  await node.cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: { key: 'one' } })
  const pod = await aPod(node, { configMap: { name: 'c' } }, { subPath: 'key', mountPath: '/etc/app.conf' })
  await node.sandbox(pod)
  assert.equal(await node.read(await node.container(pod), '/etc/app.conf'), 'one')
  await node.cluster.change(ConfigMap, 'default', 'c', (object) => {
    object.data = { key: 'two' }
  })
  await node.settle()
  const plan = await node.container(pod)
  assert.equal(await node.read(plan, '/etc/app.conf'), 'two')
  assert.equal(plan.mounts[0]?.isReadOnly, true)
})

const expressions: [expression: string, made: string | undefined, failure?: string][] = [
  ['$(POD)/logs', 'web/logs'],
  ['$$(POD)', '$(POD)'],
  ['$(NONE)-$(EMPTY)', undefined, 'missing value for EMPTY, NONE'],
  ['$(UP)', undefined, "unable to provision SubPath `../..`: must not contain '..'"],
  ['$(ROOT)', undefined, 'error SubPath `/etc` must not be an absolute path'],
]

for (const [expression, made, failure] of expressions) {
  test(`the part ${expression} is ${made ?? `refused: ${failure}`}`, { skip }, async () => {
    await using node = await TestNode.start()
    const env = [
      { name: 'POD', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      ...[{ name: 'EMPTY' }, { name: 'UP', value: '../..' }, { name: 'ROOT', value: '/etc' }],
    ]
    const pod = await aPod(node, { emptyDir: {} }, { subPathExpr: expression }, { env })
    await node.sandbox(pod)
    if (made === undefined) {
      await assert.rejects(node.container(pod), { name: 'StartFailure', reason: 'CreateContainerConfigError', message: failure ?? '' })
    } else {
      await node.container(pod)
      assert.ok((await fs.stat(join(volumeOf(node, pod), made))).isDirectory())
    }
  })
}

const hostile: [what: string, subPath: string, prepare: (volume: string, secret: string) => Promise<void>, failure: string][] = [
  ['a link out of the volume', 'evil', (volume, secret) => fs.symlink(secret, join(volume, 'evil')), 'failed to prepare subPath'],
  ['a link up and out', 'evil', (volume) => fs.symlink('../../../../..', join(volume, 'evil')), 'failed to prepare subPath'],
  ['a link on the way', 'a/deep', (volume, secret) => fs.symlink(secret, join(volume, 'a')), 'failed to prepare subPath'],
  [
    'a link to where nothing is yet',
    'a/new',
    (volume, secret) => fs.symlink(secret, join(volume, 'a')),
    'failed to create subPath directory',
  ],
  [
    'a link that leads nowhere',
    'a',
    (volume, secret) => fs.symlink(join(secret, 'none'), join(volume, 'a')),
    'failed to create subPath directory',
  ],
  ['a link to itself', 'a/b', (volume) => fs.symlink('a', join(volume, 'a')), 'failed to prepare subPath'],
  ["the node's memory", 'mem', (volume) => fs.symlink('/proc/self/root/etc', join(volume, 'mem')), 'failed to prepare subPath'],
]

for (const [what, subPath, prepare, failure] of hostile) {
  test(`${what} is not given to a container`, { skip }, async () => {
    await using node = await TestNode.start()
    const secret = join(node.root, 'secret')
    await fs.mkdir(join(secret, 'deep'), { recursive: true })
    const pod = await aPod(node, { emptyDir: {} }, { subPath })
    await node.sandbox(pod)
    await prepare(volumeOf(node, pod), secret)
    const message = `${failure} for volumeMount "v" of container "app"`
    await assert.rejects(node.container(pod), { name: 'StartFailure', reason: 'CreateContainerConfigError', message })
    assert.deepEqual(await fs.readdir(secret), ['deep'])
    assert.deepEqual(await nodeMounts.below(node.root), [])
    await node.now(node.runtimeHelper.cleanUp(pod))
    assert.deepEqual(await fs.readdir(secret), ['deep'])
  })
}

test('a link that stays in the volume is followed', { skip }, async () => {
  await using node = await TestNode.start()
  const pod = await aPod(node, { emptyDir: {} }, { subPath: 'current/data' })
  await node.sandbox(pod)
  await fs.mkdir(join(volumeOf(node, pod), 'v2/data'), { recursive: true })
  await fs.symlink('v2', join(volumeOf(node, pod), 'current'))
  await fs.writeFile(join(volumeOf(node, pod), 'v2/data/note'), 'two')
  assert.equal(await node.read(await node.container(pod), '/part/note'), 'two')
})

test('a part of a host path is let go of after the pod, and what is there stays', { skip }, async () => {
  await using node = await TestNode.start()
  const host = join(node.root, 'host')
  await fs.mkdir(join(host, 'data'), { recursive: true })
  await fs.writeFile(join(host, 'data/note'), 'precious')
  const pod = await aPod(node, { hostPath: { path: host } }, { subPath: 'data' })
  await node.sandbox(pod)
  const plan = await node.container(pod)
  assert.equal(await node.read(plan, '/part/note'), 'precious')
  await node.now(node.runtimeHelper.cleanUp(pod))
  assert.equal(await fs.readFile(join(host, 'data/note'), 'utf8'), 'precious')
  assert.deepEqual(await fs.readdir(join(node.root, 'pods')), [])
})
