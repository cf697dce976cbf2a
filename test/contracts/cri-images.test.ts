/** Images over a real containerd: from files, from a registry, away again. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import { ImageManager } from '#kubelet/images/image-manager.ts'
import { criImages } from '#kubelet/images/image-service.ts'
import { importImages } from '#kubelet/images/import-image.ts'
import { sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { startContainerd, stopContainerd } from '#kubelet/runtimes/cri/private-containerd.ts'
import { writeImageArchive } from '#wire/oci/image-archive.ts'
import { writeTar } from '#wire/tar.ts'
import { startTestContainerd, type TestContainerd, whyNoContainers } from '../support/containerd.ts'
import { startRegistry, type TestRegistry } from '../support/registry.ts'
import { testImage } from '../support/test-image.ts'

const main = join(import.meta.dirname, '../../src/cmd/main.ts')

describe('images in containerd', { skip: whyNoContainers(), timeout: 600_000 }, () => {
  let containerd: TestContainerd
  let client: CriClient
  let registry: TestRegistry

  const small = (name: string, text: string) => ({
    ...{ name, architecture: process.arch === 'arm64' ? 'arm64' : 'amd64', config: { Cmd: ['/hello'], User: '7' } },
    layers: [[{ path: 'hello', content: Buffer.from(text), mode: 0o755 }]],
  })

  before(async () => {
    containerd = await startTestContainerd()
    client = await containerd.client()
    registry = await startRegistry(writeImageArchive([small('any:1', 'from the registry')]))
  })

  after(async () => {
    client?.[Symbol.dispose]()
    await registry?.[Symbol.asyncDispose]()
    await containerd?.[Symbol.asyncDispose]()
  })

  const command = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'images', ...args, '--cri-socket', containerd.socket], {
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }

  test('stay when containerd is started a second time, and it is found again while it runs', async () => {
    const options = {
      directory: containerd.directory,
      sandboxImage: sandboxImageName,
      cniConfigDirectory: join(containerd.directory, 'cni'),
    }
    const seams = { files: nodeFiles, processes: nodeProcesses, clock: systemClock, logger: silentLogger }
    const found = await startContainerd(options, seams)
    assert.equal(found.wasRunning, true)
    await stopContainerd(containerd.directory, seams)
    await assert.rejects(client.call('version', { version: '0.1.0' }))
    await containerd.start()
    const again = await startContainerd(options, seams)
    assert.deepEqual([again.wasRunning, again.socket], [true, found.socket])
    assert.notEqual(again.pid, found.pid)
    using fresh = await containerd.client()
    assert.ok((await fresh.call('imageStatus', { image: { image: testImage } })).image)
  })

  test('are listed, brought in and removed by command', () => {
    const before = command('ls')
    assert.equal(before.status, 0, before.stderr)
    assert.match(before.stdout, /^IMAGE\s+ID\s+SIZE\n/)
    assert.ok(before.stdout.includes(testImage) && before.stdout.includes(sandboxImageName))
    const file = join(containerd.directory, 'two.tar')
    writeFileSync(file, writeImageArchive([small('hello:1', 'one'), small('quay.io/team/hello:2', 'two')]))
    assert.deepEqual(command('load', file), {
      status: 0,
      stdout: 'Loaded: docker.io/library/hello:1\nLoaded: quay.io/team/hello:2\n',
      stderr: '',
    })
    assert.match(command('ls').stdout, /docker\.io\/library\/hello:1\s+[0-9a-f]{13}\s+[\d.]+kB\n/)
    assert.equal(command('rm', 'hello:1').stdout, 'Removed: hello:1\n')
    assert.doesNotMatch(command('ls').stdout, /library\/hello/)
    const again = command('rm', 'hello:1')
    assert.equal(again.status, 1)
    assert.match(again.stderr, /there is no image hello:1/)
    writeFileSync(file, 'nothing of the kind')
    assert.match(command('load', file).stderr, /is not a valid tar archive/)
  })

  test('come in from the older form of archives as well', async () => {
    const layer = writeTar([{ path: 'hello', content: Buffer.from('old') }])
    const { createHash } = await import('node:crypto')
    const diffId = `sha256:${createHash('sha256').update(layer).digest('hex')}`
    const config = { architecture: 'amd64', os: 'linux', config: { User: 'ada' }, rootfs: { type: 'layers', diff_ids: [diffId] } }
    const file = join(containerd.directory, 'old.tar')
    const manifest = [{ Config: 'c.json', RepoTags: ['old/app:3'], Layers: ['a/layer.tar'] }]
    const entries = { 'c.json': config, 'manifest.json': manifest }
    writeFileSync(
      file,
      writeTar([
        ...Object.entries(entries).map(([path, value]) => ({ path, content: Buffer.from(JSON.stringify(value)) })),
        { path: 'a/layer.tar', content: layer },
      ]),
    )
    assert.deepEqual(await importImages(client, file, { files: nodeFiles, clock: systemClock }), ['docker.io/old/app:3'])
    const { image } = await client.call('imageStatus', { image: { image: 'old/app:3' } })
    assert.equal(image?.username, 'ada')
  })

  test('are pulled, by those who may', async () => {
    const auths = { [registry.host]: { auth: Buffer.from('user:password').toString('base64') } }
    const manager = new ImageManager({
      ...{ images: criImages(client), clock: systemClock },
      secrets: {
        secret: async () => ({
          ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, type: 'kubernetes.io/dockerconfigjson' },
          data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
        }),
      },
    })
    const ensure = async (path: string, secrets: string[] = []) => {
      const container = { name: 'c', image: `${registry.host}/${path}`, imagePullPolicy: 'Always' }
      const pod: V1Pod = {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n', uid: path } },
        spec: { containers: [container], imagePullSecrets: secrets.map((name) => ({ name })) },
      }
      const events: string[] = []
      const tell = (_: string, reason: string, message: string) => void events.push(`${reason}: ${message}`)
      const outcome = await manager.ensureImage(pod, container, tell, new AbortController().signal).catch((error: Error) => error)
      return { outcome, events }
    }
    const open = await ensure('open/app:1')
    assert.match(String(open.outcome), /^sha256:/)
    assert.match(
      open.events[1] ?? '',
      /^Pulled: Successfully pulled image "127\.0\.0\.1:\d+\/open\/app:1" in [\d.hm]+s \([\d.hm]+s including waiting\)\. Image size: \d+ bytes\.$/,
    )
    const denied = await ensure('private/app:1')
    assert.ok(denied.outcome instanceof Error && 'reason' in denied.outcome)
    assert.equal(denied.outcome.reason, 'ErrImagePull')
    assert.match(denied.outcome.message, /failed to pull and unpack image .*401 Unauthorized/s)
    assert.match(String((await ensure('private/other:1', ['s'])).outcome), /^sha256:/)
    const missing = await ensure('missing/app:1')
    assert.match(String(missing.outcome), /rpc error: code = NotFound desc = failed to pull and unpack image/)
    const { image } = await client.call('imageStatus', { image: { image: `${registry.host}/open/app:1` } })
    assert.equal(image?.uid?.value, 7)
  })
})
