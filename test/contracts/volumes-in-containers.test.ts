/** What a node makes for its pods, as real containers see it. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ConfigMap, Secret, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Container, V1Pod, V1PodSpec, V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { thisMachine } from '#base/machine.ts'
import { nodeMounts } from '#base/mounts.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { CriRuntime } from '#kubelet/runtimes/cri/cri-runtime.ts'
import type { ExecResult } from '#kubelet/runtimes/runtime.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'
import { startTestContainerd, type TestContainerd, whyNoContainers } from '../support/containerd.ts'
import { testImage } from '../support/test-image.ts'

const signal = AbortSignal.timeout(120_000)
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('volumes in containers', { skip: cannotMount || whyNoContainers(), timeout: 120_000 }, () => {
  let containerd: TestContainerd
  let client: CriClient
  let cgroups: PodCgroups
  let runtime: CriRuntime

  before(async () => {
    containerd = await startTestContainerd()
    client = await containerd.client()
    const found = await findCgroups(nodeFiles)
    assert.ok(found)
    cgroups = new PodCgroups({ cgroups: found, logger: silentLogger, root: `kubepods-${containerd.bridge}` })
    runtime = await CriRuntime.start({
      ...{ client, clock: systemClock, logger: silentLogger, files: nodeFiles, cgroups },
      capacity: { memoryBytes: thisMachine().memoryBytes, hugePageSizes: [] },
    })
  })

  after(async () => {
    runtime?.stop()
    client?.[Symbol.dispose]()
    await containerd?.[Symbol.asyncDispose]()
    await cgroups?.removeAll()
  })

  /** A pod whose containers wait to be asked things. */
  async function run(node: TestNode, spec: Omit<Partial<V1PodSpec>, 'containers'> & { containers: Partial<V1Container>[] }) {
    const containers = spec.containers.map((container, index) => ({
      ...{ name: `c${index}`, image: testImage, command: ['sleep', '1000'] },
      ...container,
    }))
    const pod = await node.create({ ...spec, containers })
    const sandbox = await runtime.runSandbox(pod, await node.sandbox(pod), signal)
    const ids = new Map<string, string>()
    const start = async (name: string, attempt = 0) => {
      const container = pod.spec.containers.find((each) => each.name === name)
      assert.ok(container)
      const plan = await node.container(pod, name, sandbox.ips)
      const id = await runtime.createContainer({ sandboxId: sandbox.id, pod, container, attempt, plan }, signal)
      await runtime.startContainer(id, signal)
      ids.set(name, id)
    }
    return {
      ...{ pod, sandbox, start },
      async ask(script: string, name = 'c0'): Promise<ExecResult> {
        return runtime.exec(ids.get(name) ?? '', ['sh', '-c', script], 10_000)
      },
      async said(script: string, name = 'c0'): Promise<string> {
        const { stdout, stderr, exitCode } = await this.ask(script, name)
        assert.equal(exitCode, 0, `${script}: ${stderr}`)
        return stdout.trim()
      },
      async end(): Promise<void> {
        await runtime.stopSandbox(sandbox.id)
        await runtime.removeSandbox(sandbox.id)
        await node.now(node.runtimeHelper.cleanUp(pod))
        assert.deepEqual(await nodeMounts.below(node.root), [])
        assert.equal(await nodeFiles.stat(podDirectory(node, pod)), undefined)
      },
    }
  }
  const podDirectory = (node: TestNode, { metadata: { uid = '' } }: V1Pod) => join(node.root, 'pods', uid)

  test('a container sees its volumes, names and variables, and changes of objects', async () => {
    await using node = await TestNode.start({ images: { ensureImage: async (_pod, { image = '' }) => image } })
    const { cluster } = node
    await cluster.create(ServiceAccount, { metadata: { name: 'default', namespace: 'default' } } as V1ServiceAccount)
    await cluster.create(ConfigMap, { metadata: { name: 'settings', namespace: 'default' }, data: { key: 'one' } })
    await cluster.create(Secret, { metadata: { name: 'door', namespace: 'default' }, data: { key: base64('sesame') } })
    const host = join(node.root, 'host')
    await nodeFiles.makeDirectory(host, { mode: 0o755 })
    writeFileSync(join(host, 'note'), 'from the node')
    const pod = await run(node, {
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
    await pod.start('c0')
    await pod.start('c1')
    assert.equal(await pod.said('cat /settings/key /one-file /door/key /about/name /host/note'), 'oneonesesamewebfrom the node')
    assert.match(await pod.said('cat /account/token'), /^ey/)
    assert.equal(await pod.said('echo $IP $DOOR $KUBERNETES_SERVICE_HOST'), `${pod.sandbox.ips[0]} sesame 10.96.0.1`)
    assert.equal(await pod.said('hostname'), 'db')
    const hosts = await pod.said('cat /etc/hosts')
    assert.match(hosts, new RegExp(`^${pod.sandbox.ips[0]}\tdb\\.data\\.default\\.svc\\.cluster\\.local\tdb$`, 'm'))
    assert.match(hosts, /^192\.0\.2\.9\tfriend$/m)
    assert.match(await pod.said('cat /etc/resolv.conf'), /search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local\n/)

    // A user who is nobody gets at all of it by the group.
    assert.equal(await pod.said('id -u; id -G'), '1234\n1234 4321')
    assert.equal(await pod.said('stat -L -c "%u:%g %a" /door/key /account/token'), '0:4321 440\n1234:4321 640')
    assert.equal(await pod.said('touch /disk/a /memory/b && stat -c %g /disk/a /memory/b'), '4321\n4321')
    for (const path of ['/settings/x', '/door/x', '/account/x', '/about/x', '/host/x']) {
      assert.match((await pod.ask(`touch ${path}`)).stderr, /Read-only file system/)
    }
    assert.match((await pod.ask('dd if=/dev/zero of=/memory/big bs=1M count=2')).stderr, /No space left/)
    assert.equal(await pod.said('echo shared > /part/note; id -G', 'c1'), '1234 4321')
    assert.equal(await pod.said('cat /disk/deep/part/note'), 'shared')
    await pod.said('echo goodbye > /dev/termination-log')

    await cluster.change(ConfigMap, 'default', 'settings', (object) => {
      object.data = { key: 'two' }
    })
    await node.settle()
    assert.equal(await pod.said('cat /settings/key'), 'two')
    // A part of a volume is what it was when the container started.
    assert.equal(await pod.said('cat /one-file'), 'one')
    await pod.end()
    assert.equal(readFileSync(join(host, 'note'), 'utf8'), 'from the node')
  })

  test('a container that puts links into a shared volume gets at nothing of the node', async () => {
    await using node = await TestNode.start({ images: { ensureImage: async (_pod, { image = '' }) => image } })
    writeFileSync(join(node.root, 'secret'), 'of the node')
    const pod = await run(node, {
      volumes: [{ name: 'shared', emptyDir: {} }],
      containers: [
        { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] },
        { volumeMounts: [{ name: 'shared', mountPath: '/part', subPath: 'part' }] },
      ],
    })
    await pod.start('c0')
    for (const target of ['/', '/etc', '/proc/1/root', '../../../../..', node.root]) {
      await pod.said(`ln -sfn "${target}" /shared/part`)
      await assert.rejects(pod.start('c1'), { message: 'failed to prepare subPath for volumeMount "shared" of container "c1"' })
    }
    await pod.said('rm /shared/part; mkdir -p /shared/real; echo mine > /shared/real/note; ln -s real /shared/part')
    await pod.start('c1')
    assert.equal(await pod.said('cat /part/note', 'c1'), 'mine')
    // Swapped while it is mounted: the container keeps what it has.
    await pod.said('rm /shared/part; ln -s / /shared/part')
    assert.equal(await pod.said('cat /part/note', 'c1'), 'mine')
    await pod.end()
    assert.equal(readFileSync(join(node.root, 'secret'), 'utf8'), 'of the node')
  })
})
