/** What a node makes for its pods, as containers see it: over runtimes of real containers, and over the simulated one. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ConfigMap, Secret, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Container, V1Pod, V1PodSpec, V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeMounts } from '#base/mounts.ts'
import type { CreateContainerRequest, ObservedSandbox } from '#kubelet/runtimes/runtime.ts'
import { TestNode } from '#testing/test-node.ts'
import { testImage } from '../support/test-image.ts'

/** A container, as one who is in it finds it. */
export type Inside = {
  read(path: string): Promise<string>
  /** Of what the path leads to. */
  owner(path: string): Promise<{ uid: number; gid: number; mode: number }>
  variable(name: string): Promise<string | undefined>
  mayWrite(path: string): Promise<boolean>
  /** With the directories that it needs. Rejects where there is no room. */
  write(path: string, what: { text: string } | { megabytes: number }): Promise<void>
  /** In the place of what is there. */
  link(target: string, path: string): Promise<void>
  remove(path: string): Promise<void>
  /** What a script says; rejects where nothing runs in containers. */
  said(script: string): Promise<string>
}

export type VolumeStage = AsyncDisposable & {
  runSandbox(node: TestNode, pod: V1Pod): Promise<ObservedSandbox>
  /** Creates the container and starts it. */
  run(request: CreateContainerRequest): Promise<Inside>
  remove(sandboxId: string): Promise<void>
}

export type VolumeWorld = {
  start(): Promise<VolumeStage>
  /** Why nothing can be asked of processes in its containers: they have none. */
  whyNoProcesses?: string
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

export function volumesSuite({ start, whyNoProcesses }: VolumeWorld): void {
  const needsProcesses = { skip: whyNoProcesses ?? false }
  let stage: VolumeStage

  before(async () => {
    stage = await start()
  })
  after(() => stage?.[Symbol.asyncDispose]())

  /** A pod whose containers wait to be asked things. */
  async function aPod(node: TestNode, spec: Omit<Partial<V1PodSpec>, 'containers'> & { containers: Partial<V1Container>[] }) {
    const containers = spec.containers.map((container, index) => ({
      ...{ name: `c${index}`, image: testImage, command: ['sleep', '1000'] },
      ...container,
    }))
    const pod = await node.create({ ...spec, containers })
    const sandbox = await stage.runSandbox(node, pod)
    return {
      sandbox,
      async start(name: string): Promise<Inside> {
        const container = pod.spec.containers.find((each) => each.name === name)
        assert.ok(container)
        const plan = await node.container(pod, name, sandbox.ips)
        return stage.run({ sandboxId: sandbox.id, pod, container, attempt: 0, plan })
      },
      async end(): Promise<void> {
        await stage.remove(sandbox.id)
        await node.now(node.runtimeHelper.cleanUp(pod))
        assert.deepEqual(await nodeMounts.below(node.root), [])
        assert.equal(await nodeFiles.stat(join(node.root, 'pods', pod.metadata.uid ?? '')), undefined)
      },
    }
  }
  const aNode = () => TestNode.start({ images: { ensureImage: async (_pod, { image = '' }) => image } })

  describe('a pod with volumes of every kind that a node makes', () => {
    let node: TestNode
    let host: string
    let pod: Awaited<ReturnType<typeof aPod>>
    let [first, second]: Inside[] = []
    const inFirst = (): Inside => first ?? assert.fail('it was not started')
    const inSecond = (): Inside => second ?? assert.fail('it was not started')

    before(async () => {
      node = await aNode()
      const { cluster } = node
      await cluster.create(ServiceAccount, { metadata: { name: 'default', namespace: 'default' } } as V1ServiceAccount)
      await cluster.create(ConfigMap, { metadata: { name: 'settings', namespace: 'default' }, data: { key: 'one' } })
      await cluster.create(Secret, { metadata: { name: 'door', namespace: 'default' }, data: { key: base64('sesame') } })
      host = join(node.root, 'host')
      await nodeFiles.makeDirectory(host, { mode: 0o755 })
      writeFileSync(join(host, 'note'), 'from the node')
      pod = await aPod(node, specWithVolumes(host))
      first = await pod.start('c0')
      second = await pod.start('c1')
    })
    after(() => node?.[Symbol.asyncDispose]())

    test('objects, the node and the pod itself are in files and variables', async () => {
      const inside = inFirst()
      const texts: string[] = []
      for (const path of ['/settings/key', '/one-file', '/door/key', '/about/name', '/host/note']) texts.push(await inside.read(path))
      assert.deepEqual(texts, ['one', 'one', 'sesame', 'web', 'from the node'])
      assert.match(await inside.read('/account/token'), /^ey/)
      const [ip] = pod.sandbox.ips
      assert.ok(ip)
      const variables = [await inside.variable('IP'), await inside.variable('DOOR'), await inside.variable('KUBERNETES_SERVICE_HOST')]
      assert.deepEqual(variables, [ip, 'sesame', '10.96.0.1'])
      const hosts = await inside.read('/etc/hosts')
      assert.match(hosts, new RegExp(`^${ip}\tdb\\.data\\.default\\.svc\\.cluster\\.local\tdb$`, 'm'))
      assert.match(hosts, /^192\.0\.2\.9\tfriend$/m)
    })

    test('what the node has made may be read by the group of the pod, and written by nobody', async () => {
      const inside = inFirst()
      assert.deepEqual(await inside.owner('/door/key'), { uid: 0, gid: 4321, mode: 0o440 })
      assert.deepEqual(await inside.owner('/account/token'), { uid: 1234, gid: 4321, mode: 0o640 })
      for (const path of ['/settings/x', '/door/x', '/account/x', '/about/x', '/host/x'])
        assert.equal(await inside.mayWrite(path), false, path)
      for (const path of ['/disk/x', '/memory/x']) assert.equal(await inside.mayWrite(path), true, path)
    })

    test('what is written belongs to the group, is seen by the other container, and is limited in memory', async () => {
      const inside = inFirst()
      for (const path of ['/disk/a', '/memory/b']) {
        await inside.write(path, { text: 'written' })
        assert.equal((await inside.owner(path)).gid, 4321)
      }
      await inSecond().write('/part/note', { text: 'shared' })
      assert.equal(await inside.read('/disk/deep/part/note'), 'shared')
      await assert.rejects(inside.write('/memory/big', { megabytes: 2 }), /No space left|ENOSPC/)
      await inside.write('/dev/termination-log', { text: 'goodbye' })
    })

    test('its processes are of its users and groups, and find its name and its name servers', needsProcesses, async () => {
      const inside = inFirst()
      assert.equal(await inside.said('id -u; id -G'), '1234\n1234 4321')
      assert.equal(await inSecond().said('id -G'), '1234 4321')
      assert.equal(await inside.said('hostname'), 'db')
      const names = await inside.said('cat /etc/resolv.conf')
      assert.match(names, /search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local\n/)
    })

    test('a change of an object is seen in its volume, but not in a part of it', async () => {
      await node.cluster.change(ConfigMap, 'default', 'settings', (object) => {
        object.data = { key: 'two' }
      })
      await node.settle()
      assert.equal(await inFirst().read('/settings/key'), 'two')
      // A part of a volume is what it was when the container started.
      assert.equal(await inFirst().read('/one-file'), 'one')
    })

    test('nothing of it is left behind, and files of the node are untouched', async () => {
      await pod.end()
      assert.equal(readFileSync(join(host, 'note'), 'utf8'), 'from the node')
    })
  })

  test('a container that puts links into a shared volume gets at nothing of the node', async () => {
    await using node = await aNode()
    writeFileSync(join(node.root, 'secret'), 'of the node')
    const pod = await aPod(node, {
      volumes: [{ name: 'shared', emptyDir: {} }],
      containers: [
        { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] },
        { volumeMounts: [{ name: 'shared', mountPath: '/part', subPath: 'part' }] },
      ],
    })
    const first = await pod.start('c0')
    for (const target of ['/', '/etc', '/proc/1/root', '../../../../..', node.root]) {
      await first.link(target, '/shared/part')
      await assert.rejects(pod.start('c1'), { message: 'failed to prepare subPath for volumeMount "shared" of container "c1"' })
    }
    await first.write('/shared/real/note', { text: 'mine' })
    await first.link('real', '/shared/part')
    const second = await pod.start('c1')
    assert.equal(await second.read('/part/note'), 'mine')
    // Swapped while it is mounted: the container keeps what it has.
    await first.remove('/shared/part')
    await first.link('/', '/shared/part')
    assert.equal(await second.read('/part/note'), 'mine')
    await pod.end()
    assert.equal(readFileSync(join(node.root, 'secret'), 'utf8'), 'of the node')
  })
}

const specWithVolumes = (host: string): Omit<Partial<V1PodSpec>, 'containers'> & { containers: Partial<V1Container>[] } => ({
  serviceAccountName: 'default',
  hostname: 'db',
  subdomain: 'data',
  hostAliases: [{ ip: '192.0.2.9', hostnames: ['friend'] }],
  securityContext: { fsGroup: 4321, runAsUser: 1234, runAsGroup: 1234 },
  volumes: [
    { name: 'account', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    { name: 'settings', configMap: { name: 'settings' } },
    { name: 'door', secret: { secretName: 'door', defaultMode: 0o440 } },
    { name: 'disk', emptyDir: {} },
    { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    { name: 'host', hostPath: { path: host, type: 'Directory' } },
    { name: 'about', downwardAPI: { items: [{ path: 'name', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } }] } },
  ],
  containers: [
    {
      env: [
        { name: 'IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } },
        { name: 'DOOR', valueFrom: { secretKeyRef: { name: 'door', key: 'key' } } },
      ],
      volumeMounts: [
        { name: 'account', mountPath: '/account' },
        { name: 'settings', mountPath: '/settings' },
        { name: 'settings', mountPath: '/one-file', subPath: 'key' },
        { name: 'door', mountPath: '/door' },
        { name: 'disk', mountPath: '/disk' },
        { name: 'memory', mountPath: '/memory' },
        { name: 'host', mountPath: '/host', readOnly: true },
        { name: 'about', mountPath: '/about' },
      ],
    },
    { volumeMounts: [{ name: 'disk', mountPath: '/part', subPathExpr: 'deep/part' }] },
  ],
})
