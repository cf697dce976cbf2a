/**
 * The suites of real runtimes and what is Docker's alone, over a real Docker: `node --test test/by-hand/docker.ts`. Needs root and Debian's
 * docker.io. Not with the other tests, since it takes more than two minutes; a part of it is: test/contracts/docker-runtime.test.ts.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { DockerClient } from '#runtime/docker/docker-client.ts'
import { cannotMount } from '#testing/test-node.ts'
import { containerStates, namespaceModes, type SandboxConfig, sandboxStates } from '#wire/cri/cri-types.ts'
import { writeTar } from '#wire/tar.ts'
import { containerRuntimeSuite } from '../contracts/container-runtime.ts'
import { realBehavioursSuite } from '../contracts/pod-behaviours-real.ts'
import { volumesSuite } from '../contracts/volumes-in-containers.ts'
import { realVolumeStage } from '../contracts/volumes-stage-real.ts'
import { dockerWorld, startTestDocker, type TestDocker, whyNoDocker } from '../support/docker.ts'
import { digestOf, startDockerRegistry, whyNoRegistry } from '../support/docker-registry.ts'
import { testImage } from '../support/test-image.ts'

const skip = whyNoDocker()
describe('containers by Docker', { skip, timeout: 300_000 }, () => {
  containerRuntimeSuite(dockerWorld)
})
describe('pods over Docker', { skip, timeout: 300_000 }, () => realBehavioursSuite(startTestDocker, { endsWithAgent: true }))
describe('volumes in containers of Docker', { skip: cannotMount || skip, timeout: 300_000 }, () =>
  volumesSuite({ start: () => realVolumeStage(startTestDocker) }),
)

describe("what is Docker's alone", { skip, timeout: 300_000 }, () => {
  let world: TestDocker
  before(async () => {
    world = await startTestDocker()
  })
  // What a test that failed has left is not the next one's.
  afterEach(async () => {
    const { items } = await world.runtime.service.listPodSandbox({})
    for (const { id } of items) await world.runtime.service.removePodSandbox({ podSandboxId: id })
  })
  after(() => world?.[Symbol.asyncDispose]())

  let count = 0
  const aSandbox = (): SandboxConfig => {
    const name = `pod-${++count}`
    const metadata = { name, namespace: 'default', uid: `uid-${name}`, attempt: 0 }
    const labels = { 'io.kubernetes.pod.uid': metadata.uid, 'io.kubernetes.pod.name': name, 'io.kubernetes.pod.namespace': 'default' }
    const securityContext = { namespaceOptions: { network: namespaceModes.node, pid: namespaceModes.container } }
    return { metadata, labels, logDirectory: join(world.directory, 'logs', name), linux: { securityContext } }
  }
  const run = async (script: string, more: { tty?: boolean; stdin?: boolean } = {}) => {
    const { service } = world.runtime
    const sandboxConfig = aSandbox()
    const { podSandboxId } = await service.runPodSandbox({ config: sandboxConfig, runtimeHandler: '' })
    const securityContext = { namespaceOptions: { network: namespaceModes.node, pid: namespaceModes.container } }
    const config = {
      ...{ metadata: { name: 'main', attempt: 0 }, image: { image: testImage }, command: ['sh', '-c', script], logPath: 'main/0.log' },
      ...{ linux: { securityContext }, labels: sandboxConfig.labels ?? {}, annotations: { 'example.com/note': 'kept' }, ...more },
    }
    const { containerId } = await service.createContainer({ podSandboxId, config, sandboxConfig })
    await service.startContainer({ containerId })
    const status = async () => (await world.runtime.service.containerStatus({ containerId })).status
    return {
      ...{ podSandboxId, containerId, status, name: sandboxConfig.metadata.name },
      async ended() {
        for (;;) {
          const found = await status()
          if (found?.state === containerStates.exited) return found
          await systemClock.sleep(20)
        }
      },
      log: () => readFileSync(join(world.directory, 'logs', sandboxConfig.metadata.name, 'main/0.log'), 'utf8'),
      lines() {
        return this.log()
          .split('\n')
          .filter(Boolean)
          .map((line) => line.replace(/^\S+ (stdout|stderr) [FP] /, ''))
      },
      remove: () => world.runtime.service.removePodSandbox({ podSandboxId }),
    }
  }

  test('names and labels are those of dockershim', async () => {
    const pod = await run('sleep 1000')
    using docker = await DockerClient.connect(world.endpoint, systemClock)
    const listed = await docker.json<{ Names: string[]; Labels: Record<string, string> }[]>('GET', '/containers/json')
    const uid = `uid-${pod.name}`
    const found = listed.filter(({ Labels }) => Labels['io.kubernetes.pod.uid'] === uid)
    assert.deepEqual(
      found.map(({ Names, Labels }) => [Names[0], Labels['io.kubernetes.docker.type'], Labels['io.kubernetes.sandbox.id']]),
      [
        [`/k8s_main_${pod.name}_default_${uid}_0`, 'container', pod.podSandboxId],
        [`/k8s_POD_${pod.name}_default_${uid}_0`, 'podsandbox', undefined],
      ],
    )
    assert.deepEqual((await pod.status())?.annotations, { 'example.com/note': 'kept' })
    await pod.remove()
  })

  test("others' containers are left alone", async () => {
    using docker = await DockerClient.connect(world.endpoint, systemClock)
    const body = { Image: testImage, Cmd: ['sleep', '1000'], HostConfig: { NetworkMode: 'none' } }
    const { Id } = await docker.json<{ Id: string }>('POST', '/containers/create', { query: { name: 'somebody' }, body })
    await docker.json('POST', `/containers/${Id}/start`)
    await world.kill()
    await world.start()
    const { items } = await world.runtime.service.listPodSandbox({})
    const { containers } = await world.runtime.service.listContainers({})
    assert.deepEqual([items, containers], [[], []])
    assert.equal((await docker.json<{ State: { Running: boolean } }>('GET', `/containers/${Id}/json`)).State.Running, true)
    await docker.json('DELETE', `/containers/${Id}`, { query: { force: true } })
  })

  test('what is written while no agent is there is in the log afterwards, once', async () => {
    const pod = await run('i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo line $i; sleep 0.005; done')
    while (!pod.log().includes('line 20')) await systemClock.sleep(10)
    await world.kill()
    const before = pod.lines().length
    assert.ok(before < 400)
    await systemClock.sleep(300)
    await world.start()
    await pod.ended()
    assert.deepEqual(
      pod.lines(),
      Array.from({ length: 400 }, (_, index) => `line ${index + 1}`),
    )
    await pod.remove()
  })

  test("pods outlive Docker's own restart, and their logs go on", async () => {
    const pod = await run('i=0; until [ -e /enough ]; do i=$((i+1)); echo line $i; sleep 0.05; done; echo the end')
    while (!pod.log().includes('line 20')) await systemClock.sleep(10)
    await world.stopDaemon()
    await assert.rejects(world.runtime.service.listContainers({}), /Cannot connect to the Docker daemon/)
    const { status } = await world.runtime.service.status({ verbose: false })
    assert.equal(status?.conditions[0]?.reason, 'DockerDaemonNotReady')
    await world.startDaemon()
    assert.equal((await pod.status())?.state, containerStates.running)
    await world.runtime.service.execSync({ containerId: pod.containerId, cmd: ['touch', '/enough'], timeout: 60 })
    assert.equal((await pod.ended()).exitCode, 0)
    // Docker keeps what was written meanwhile; nothing is there twice.
    const lines = pod.lines()
    assert.deepEqual([lines[0], lines.at(-1), new Set(lines).size], ['line 1', 'the end', lines.length])
    await pod.remove()
  })

  test('long lines, lines without an end and output of a terminal are in the log', async () => {
    const long = await run("head -c 40000 /dev/zero | tr '\\0' x; echo; printf unfinished")
    await long.ended()
    const kinds = long
      .log()
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.split(' ')[2], (line.split(' ')[3] ?? '').length])
    assert.deepEqual(kinds, [
      ['P', 16_384],
      ['P', 16_384],
      ['F', 7232],
      ['F', 10],
    ])
    await long.remove()
    const terminal = await run("tty; head -c 40000 /dev/zero | tr '\\0' x; echo; echo last", { tty: true, stdin: true })
    await terminal.ended()
    const text = terminal.lines().join('|').replaceAll('\r', '')
    assert.match(text, /^\/dev\/pts\/0\|x+\|x+\|x+\|last$/)
    assert.equal(text.replaceAll(/[^x]/g, '').length, 40_000)
    await terminal.remove()
  })

  test('a sandbox that was never finished is removed by the next agent', async () => {
    using docker = await DockerClient.connect(world.endpoint, systemClock)
    const pod = await run('sleep 1000')
    await world.kill()
    spawnSync('rm', ['-rf', join(world.directory, 'runtime/sandboxes', pod.podSandboxId)])
    await world.start()
    await assert.rejects(docker.json('GET', `/containers/${pod.podSandboxId}/json`), /No such container/)
    const { items } = await world.runtime.service.listPodSandbox({})
    assert.deepEqual(items, [])
    await world.runtime.service.removeContainer({ containerId: pod.containerId })
  })

  test('a sandbox that is stopped is not ready, and its containers have ended', async () => {
    const pod = await run('sleep 1000')
    const { service } = world.runtime
    const usage = (await service.containerStats({ containerId: pod.containerId })).stats
    assert.ok((usage?.memory?.usageBytes?.value ?? 0n) > 0n && usage?.writableLayer !== undefined)
    await service.stopPodSandbox({ podSandboxId: pod.podSandboxId })
    const { status } = await service.podSandboxStatus({ podSandboxId: pod.podSandboxId })
    assert.equal(status?.state, sandboxStates.notReady)
    assert.equal((await pod.status())?.exitCode, 137)
    await pod.remove()
    const { items } = await service.listPodSandbox({ filter: { id: pod.podSandboxId } })
    assert.deepEqual(items, [])
  })

  test('images are pulled, with a password where that is needed, and removed', { skip: whyNoRegistry() }, async () => {
    await using registry = await startDockerRegistry({ hasUsers: true })
    const tar = writeTar([{ path: 'hello', content: Buffer.from('hello'), mode: 0o755 }])
    const mediaType = 'application/vnd.oci.image.layer.v1.tar'
    const digest = await registry.push('team/app', '1', [{ bytes: tar, diffId: digestOf(tar), mediaType }])
    const { service } = world.runtime
    const image = { image: `${registry.host}/team/app:1` }
    await assert.rejects(service.pullImage({ image }), /failed to pull image .*(no basic auth credentials|unauthorized)/s)
    const auth = { username: 'user', password: 'password' }
    const { imageRef } = await service.pullImage({ image, auth })
    const found = (await service.imageStatus({ image })).image
    assert.deepEqual([found?.id, found?.repoTags, found?.repoDigests], [imageRef, [image.image], [`${registry.host}/team/app@${digest}`]])
    const encoded = { auth: Buffer.from('user:password').toString('base64') }
    const byDigest = { image: `${registry.host}/team/app@${digest}` }
    assert.equal((await service.pullImage({ image: byDigest, auth: encoded })).imageRef, imageRef)
    const missing = { image: `${registry.host}/team/other:1` }
    await assert.rejects(service.pullImage({ image: missing, auth }), /failed to pull image/)
    await service.removeImage({ image: { image: imageRef } })
    assert.equal((await service.imageStatus({ image })).image, undefined)
    await service.removeImage({ image })
    const { images } = await service.listImages({})
    assert.ok(images.some(({ repoTags, pinned }) => pinned && repoTags.some((name) => name.includes('pause'))))
    const { imageFilesystems } = await service.imageFsInfo({})
    assert.ok((imageFilesystems[0]?.usedBytes?.value ?? 0) > 0)
  })
})
