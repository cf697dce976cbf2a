import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigMap, Secret } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1PodSpec, V1Volume } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'

const skip = cannotMount
const base64 = (text: string) => Buffer.from(text).toString('base64')
const modeOf = async (path: string) => (await fs.stat(path)).mode & 0o7777

/** A pod with one volume, mounted at /v. */
const withVolume = (volume: Omit<V1Volume, 'name'>, spec: Partial<V1PodSpec> = {}): Partial<V1PodSpec> => ({
  volumes: [{ name: 'v', ...volume }],
  containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
  ...spec,
})

async function seen(node: TestNode, pod: V1Pod): Promise<string> {
  await node.sandbox(pod)
  return node.seen(await node.container(pod), '/v')
}

test('config maps: keys, paths, modes, binary data', { skip }, async () => {
  await using node = await TestNode.start()
  const data = { a: 'one', b: 'two' }
  await node.cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data, binaryData: { bin: base64('\x00\xff') } })
  const all = await seen(node, await node.create(withVolume({ configMap: { name: 'c' } })))
  assert.deepEqual(
    (await fs.readdir(all)).filter((name) => !name.startsWith('..')),
    ['a', 'b', 'bin'],
  )
  assert.equal(await modeOf(join(all, 'a')), 0o644)
  assert.equal(await modeOf(all), 0o777)
  assert.deepEqual(await fs.readFile(join(all, 'bin')), Buffer.from('\x00\xff'))
  const items = [
    { key: 'a', path: 'deep/x', mode: 0o600 },
    { key: 'bin', path: 'y' },
    { key: 'none', path: 'z' },
  ]
  const some = await seen(
    node,
    await node.create(withVolume({ configMap: { name: 'c', items, defaultMode: 0o440, optional: true } }), { name: 'some' }),
  )
  assert.deepEqual(
    (await fs.readdir(some)).filter((name) => !name.startsWith('..')),
    ['deep', 'y'],
  )
  assert.equal(await modeOf(join(some, 'deep/x')), 0o600)
  assert.equal(await modeOf(join(some, 'y')), 0o440)
})

const missing: [what: string, volume: Omit<V1Volume, 'name'>, message: string][] = [
  ['a config map', { configMap: { name: 'none' } }, 'configmap "none" not found'],
  ['a secret', { secret: { secretName: 'none' } }, 'secret "none" not found'],
  [
    'a key of a config map',
    { configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } },
    'configmap references non-existent config key: k',
  ],
  ['a key of a secret', { secret: { secretName: 's', items: [{ key: 'k', path: 'p' }] } }, 'references non-existent secret key: k'],
  [
    'several things at once',
    { projected: { sources: [{ secret: { name: 'none' } }, { configMap: { name: 'none' } }, { secret: { name: 's' } }] } },
    '[secret "none" not found, configmap "none" not found]',
  ],
  [
    'an account',
    { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
    'failed to fetch token: serviceaccounts "default" not found',
  ],
]

for (const [what, volume, message] of missing) {
  test(`${what} that is not there keeps the pod waiting: ${message}`, { skip }, async () => {
    await using node = await TestNode.start()
    await node.cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: {} })
    await node.cluster.create(Secret, { metadata: { name: 's', namespace: 'default' }, data: {} })
    const pod = await node.create(withVolume(volume, { serviceAccountName: 'default' }))
    assert.equal(await node.eventOf(pod), `FailedMount: MountVolume.SetUp failed for volume "v" : ${message}`)
    assert.deepEqual(await fs.readdir(join(node.root, 'pods', pod.metadata.uid ?? '', 'volumes')), [])
  })
}

test('what a pod waits for lets it start as soon as it is there', { skip }, async () => {
  await using node = await TestNode.start()
  const pod = await node.create(withVolume({ secret: { secretName: 'late' } }))
  const started = node.runtimeHelper.prepareSandbox(pod, new AbortController().signal)
  while (node.events.length < 2) await node.cluster.clock.advance(100)
  const beforeMs = node.cluster.clock.now()
  await node.cluster.create(Secret, { metadata: { name: 'late', namespace: 'default' }, data: { k: base64('v') } })
  await node.now(started)
  assert.equal(node.cluster.clock.now(), beforeMs)
  assert.equal(await node.read(await node.container(pod), '/v/k'), 'v')
})

test('a pod that waits for long is told so once in a while', { skip }, async () => {
  await using node = await TestNode.start()
  const pod = await node.create(withVolume({ secret: { secretName: 'late' } }))
  const abort = new AbortController()
  const started = node.runtimeHelper.prepareSandbox(pod, abort.signal)
  started.catch(() => undefined)
  while (node.events.length < 15) await node.cluster.clock.advance(100)
  const long =
    'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]: context deadline exceeded'
  assert.ok(node.events.includes(`FailedMount: ${long}`), node.events.join('\n'))
  abort.abort(new Error('given up'))
  await assert.rejects(node.now(started), /given up/)
})

test('an object that is optional and comes later is shown then, and one that goes away leaves its files', { skip }, async () => {
  await using node = await TestNode.start()
  const pod = await node.create(withVolume({ configMap: { name: 'c', optional: true } }))
  const path = await seen(node, pod)
  assert.deepEqual(
    (await fs.readdir(path)).filter((name) => !name.startsWith('..')),
    [],
  )
  await node.cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: { a: '1' } })
  await node.settle()
  assert.equal(await fs.readFile(join(path, 'a'), 'utf8'), '1')

  const strict = await node.create(withVolume({ configMap: { name: 'c' } }), { name: 'strict' })
  const strictPath = await seen(node, strict)
  await node.cluster.client.delete(ConfigMap, { namespace: 'default', name: 'c' })
  await node.settle()
  assert.equal(await fs.readFile(join(strictPath, 'a'), 'utf8'), '1')
  assert.deepEqual(
    (await fs.readdir(path)).filter((name) => !name.startsWith('..')),
    [],
  )
  assert.deepEqual(node.events, ['FailedMount: MountVolume.SetUp failed for volume "v" : configmap "c" not found'])
})

test('what changes while its volume is being made is shown afterwards', { skip }, async () => {
  let onWrite = async () => {}
  const files = {
    ...nodeFiles,
    async createExclusive(...args: Parameters<typeof nodeFiles.createExclusive>) {
      if (args[0].endsWith('/a')) await onWrite()
      return nodeFiles.createExclusive(...args)
    },
  }
  await using node = await TestNode.start({ files })
  await node.cluster.create(ConfigMap, { metadata: { name: 'c', namespace: 'default' }, data: { a: '1' } })
  const pod = await node.create(withVolume({ configMap: { name: 'c' } }))
  onWrite = async () => {
    onWrite = async () => {}
    await node.cluster.change(ConfigMap, 'default', 'c', (object) => {
      object.data = { a: '2' }
    })
    await node.cluster.clock.settle()
  }
  const path = await seen(node, pod)
  await node.settle()
  assert.equal(await fs.readFile(join(path, 'a'), 'utf8'), '2')
})

test('the downward API shows labels as they change', { skip }, async () => {
  await using node = await TestNode.start()
  const items = [
    { path: 'labels', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.labels' } },
    { path: 'cpu', mode: 0o400, resourceFieldRef: { containerName: 'app', resource: 'limits.cpu', divisor: '1m' } },
  ]
  const pod = await node.create(withVolume({ downwardAPI: { items } }), { labels: { app: 'web' } })
  const path = await seen(node, pod)
  assert.equal(await fs.readFile(join(path, 'labels'), 'utf8'), 'app="web"')
  assert.equal(await fs.readFile(join(path, 'cpu'), 'utf8'), '2000')
  assert.equal(await modeOf(join(path, 'cpu')), 0o400)
  await node.now(node.runtimeHelper.refresh({ ...pod, metadata: { ...pod.metadata, labels: { app: 'web', new: 'yes' } } }))
  assert.equal(await fs.readFile(join(path, 'labels'), 'utf8'), 'app="web"\nnew="yes"')
})

test('a group gets what is in the volume: files it may read, directories that hand it on', { skip }, async () => {
  await using node = await TestNode.start()
  await node.cluster.create(Secret, { metadata: { name: 's', namespace: 'default' }, data: { k: base64('v') } })
  const spec = { securityContext: { fsGroup: 4321 } }
  const secret = await seen(node, await node.create(withVolume({ secret: { secretName: 's', defaultMode: 0o400 } }, spec)))
  assert.equal((await fs.stat(join(secret, 'k'))).gid, 4321)
  assert.equal(await modeOf(join(secret, 'k')), 0o440)
  assert.equal((await fs.lstat(join(secret, '..data'))).gid, 4321)
  assert.equal(await modeOf(secret), 0o3777)
  for (const [index, medium] of ['', 'Memory'].entries()) {
    const path = await seen(node, await node.create(withVolume({ emptyDir: { medium } }, spec), { name: `empty-${index}` }))
    assert.equal((await fs.stat(path)).gid, 4321)
    assert.equal(await modeOf(path), medium === '' ? 0o2777 : 0o3777)
  }
})

test('an emptyDir in memory is as large as it may be, and both kinds keep what is in them when set up again', { skip }, async () => {
  await using node = await TestNode.start()
  const memory = await node.create(withVolume({ emptyDir: { medium: 'Memory', sizeLimit: '64Ki' } }))
  const path = await seen(node, memory)
  const { bsize, blocks } = await fs.statfs(path)
  assert.equal(bsize * blocks, 64 * 1024)
  const disk = await node.create(withVolume({ emptyDir: {} }), { name: 'disk' })
  for (const pod of [memory, disk]) {
    const directory = await seen(node, pod)
    await fs.writeFile(join(directory, 'note'), 'mine')
    await fs.chmod(directory, 0o711)
    assert.equal(await seen(node, pod), directory)
    assert.equal(await fs.readFile(join(directory, 'note'), 'utf8'), 'mine')
    assert.equal(await modeOf(directory), 0o711)
  }
})

test('host paths of all types', { skip }, async () => {
  await using node = await TestNode.start()
  const at = (name: string) => join(node.root, 'host', name)
  await fs.mkdir(at('directory'), { recursive: true })
  await fs.writeFile(at('file'), '')
  await fs.symlink('directory', at('link'))
  const server = createServer().listen(at('socket'))
  await new Promise((resolve) => server.once('listening', resolve))
  const check = (name: string, what: string) => `hostPath type check failed: ${at(name)} is not ${what}`
  const cases: [type: string | undefined, path: string, failure?: string][] = [
    [undefined, at('none')],
    ['', at('none')],
    ['Directory', at('directory')],
    ['Directory', at('link')],
    ['Directory', at('file'), check('file', 'a directory')],
    ['Directory', at('none'), check('none', 'a directory')],
    ['DirectoryOrCreate', at('made/deep')],
    ['DirectoryOrCreate', at('file'), check('file', 'a directory')],
    ['File', at('file')],
    ['File', at('directory'), check('directory', 'a file')],
    ['FileOrCreate', at('made-file')],
    ['FileOrCreate', at('no/such/file'), `open ${at('no/such/file')}: no such file or directory`],
    ['Socket', at('socket')],
    ['Socket', at('file'), check('file', 'a socket file')],
    ['CharDevice', '/dev/null'],
    ['CharDevice', at('file'), check('file', 'a character device')],
    ['BlockDevice', at('file'), check('file', 'a block device')],
  ]
  try {
    for (const [index, [type, path, failure]] of cases.entries()) {
      node.events.length = 0
      const hostPath = type === undefined ? { path } : { path, type }
      const pod = await node.create(withVolume({ hostPath }), { name: `p${index}` })
      if (failure === undefined) assert.equal(await seen(node, pod), path)
      else assert.equal(await node.eventOf(pod), `FailedMount: MountVolume.SetUp failed for volume "v" : ${failure}`)
    }
  } finally {
    server.close()
  }
  assert.equal(await modeOf(at('made/deep')), 0o755)
  assert.ok((await fs.stat(at('made-file'))).isFile())
})

test('a kind of volume this node does not know is said to be so', { skip }, async () => {
  await using node = await TestNode.start()
  const pod = await node.create(withVolume({ fc: { targetWWNs: ['1'], lun: 0 } }))
  await assert.rejects(node.sandbox(pod), {
    name: 'StartFailure',
    reason: 'FailedMount',
    message:
      'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: no volume plugin matched: fc',
  })
})
