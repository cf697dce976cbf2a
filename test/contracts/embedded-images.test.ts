/** Images of the embedded runtime, from a real registry and from archives. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { silentLogger } from '#base/log.ts'
import { whyNoSystemCalls } from '#base/system-calls.ts'
import { ImageStore } from '#runtime/images/image-store.ts'
import { writeImageArchive } from '#wire/oci/image-archive.ts'
import { writeTar } from '#wire/tar.ts'
import {
  type DockerRegistry,
  digestOf,
  type PushedLayer,
  startDockerRegistry,
  startRegistryProxy,
  whyNoRegistry,
} from '../support/docker-registry.ts'

const isRoot = process.getuid?.() === 0
const skip = whyNoRegistry() || (whyNoSystemCalls() ?? false)

describe('images of the embedded runtime', { skip, timeout: 600_000 }, () => {
  let registry: DockerRegistry
  let directory: string

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'tn-images-'))
    registry = await startDockerRegistry()
  })
  after(async () => {
    await registry?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
  })

  let count = 0
  const openStore = (where = join(directory, `store-${count++}`)) =>
    ImageStore.open({
      ...{ directory: where, files: nodeFiles, clock: systemClock, logger: silentLogger, architecture: 'amd64' },
      ...{ http: () => nodeHttpClient(), isRootless: !isRoot, keepsOwners: isRoot, isUsed: () => false },
    })

  const pressed = { tar: (bytes: Uint8Array) => bytes, 'tar+gzip': gzipSync, 'tar+zstd': zstdCompressSync }
  const layerOf = (text: string, form: keyof typeof pressed = 'tar+gzip', noiseBytes = 0): PushedLayer => {
    const tar = writeTar([
      { path: 'hello', content: Buffer.from(text), mode: 0o755 },
      ...(noiseBytes > 0 ? [{ path: 'noise', content: randomBytes(noiseBytes) }] : []),
    ])
    return { bytes: pressed[form](tar), diffId: digestOf(tar), mediaType: `application/vnd.oci.image.layer.v1.${form}` }
  }

  test('layers come in however they are compressed, once for all images that have them', async () => {
    const layers = [layerOf('one', 'tar'), layerOf('two', 'tar+gzip'), layerOf('three', 'tar+zstd')]
    await registry.push('team/app', '1', layers)
    await registry.push('team/other', '1', layers.slice(0, 2))
    const where = join(directory, 'shared')
    const store = await openStore(where)
    const id = await store.pull(`${registry.host}/team/app:1`, undefined)
    await store.pull(`${registry.host}/team/other:1`, undefined)
    const image = store.find(`${registry.host}/team/app:1`)
    assert.equal(image?.id, id)
    assert.deepEqual(
      image.layers.map((layer) => readFileSync(join(layer, 'hello'), 'utf8')),
      ['one', 'two', 'three'],
    )
    assert.equal(readdirSync(join(where, 'layers')).length, 3)
    assert.deepEqual(readdirSync(join(where, 'partial')), [])
    // Found again by the next process, and gone with the last image that has them.
    const again = await openStore(where)
    assert.deepEqual(again.find(id), image)
    await again.remove(`${registry.host}/team/app:1`)
    assert.equal(readdirSync(join(where, 'layers')).length, 2)
    assert.equal(again.find(id), undefined)
  })

  test('an image for many machines gives the one for this one, and a digest gives what it names', async () => {
    const digest = await registry.push('many', 'amd64', [layerOf('for us')])
    const manifest = await (
      await fetch(`http://${registry.host}/v2/many/manifests/amd64`, { headers: { accept: 'application/vnd.oci.image.manifest.v1+json' } })
    ).arrayBuffer()
    await registry.pushIndex('many', 'all', [{ digest, sizeBytes: manifest.byteLength, architecture: 'amd64' }])
    const store = await openStore()
    const id = await store.pull(`${registry.host}/many:all`, undefined)
    assert.equal(await store.pull(`${registry.host}/many@${digest}`, undefined), id)
    assert.equal(store.find(`${registry.host}/many@${digest}`)?.id, id)
    await assert.rejects(store.pull(`${registry.host}/many@sha256:${'0'.repeat(64)}`, undefined), /not found/)
    await assert.rejects(store.pull(`${registry.host}/many:none`, undefined), /not found/)
  })

  test('images of an archive are taken in layer by layer, and it is told how far that is', async () => {
    const layers = [[{ path: 'one', content: Buffer.alloc(5000, '1') }], [{ path: 'two', content: Buffer.alloc(9000, '2') }]]
    const archive = join(mkdtempSync(join(tmpdir(), 'archive ')), 'app.tar')
    writeFileSync(archive, writeImageArchive([{ name: 'registry/app:1', architecture: 'amd64', layers, config: {} }]))
    const store = await openStore()
    const told: [number, number][] = []
    const names = await store.import(archive, (doneBytes, totalBytes) => told.push([doneBytes, totalBytes]))
    assert.deepEqual(names, ['docker.io/registry/app:1'])
    const [first, second, last] = told
    assert.equal(told.length, 3)
    assert.ok(first !== undefined && second !== undefined && last !== undefined)
    assert.ok(first[0] > 5000 && second[0] > first[0] + 9000 && last[0] === last[1], JSON.stringify(told))
    rmSync(archive)
  })

  test('who needs a password gives it; others are told', async () => {
    await using guarded = await startDockerRegistry({ hasUsers: true })
    await guarded.push('secret', '1', [layerOf('hidden')])
    const store = await openStore()
    const image = `${guarded.host}/secret:1`
    await assert.rejects(store.pull(image, undefined), /authorization failed/)
    await assert.rejects(store.pull(image, { username: 'user', password: 'wrong' }), /authorization failed/)
    await store.pull(image, { username: 'user', password: 'password' })
    assert.ok(store.find(image))
  })

  test('a registry that wants tokens is given one by who gives them out', async () => {
    await registry.push('team/token', '1', [layerOf('by token')])
    const asked: string[] = []
    const server = createServer(async (request, response) => {
      if (request.url?.startsWith('/token')) {
        asked.push(`${request.url} ${request.headers.authorization ?? ''}`)
        response.end(JSON.stringify({ token: 'good' }))
        return
      }
      if (request.headers.authorization !== 'Bearer good') {
        const realm = `http://${request.headers.host}/token`
        response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="s",scope="repository:team/token:pull"` }).end()
        return
      }
      const onward = await fetch(`http://${registry.host}${request.url}`, { headers: { accept: request.headers.accept ?? '*/*' } })
      response
        .writeHead(onward.status, { 'content-type': onward.headers.get('content-type') ?? '' })
        .end(Buffer.from(await onward.arrayBuffer()))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const store = await openStore()
      await store.pull(`127.0.0.1:${(server.address() as AddressInfo).port}/team/token:1`, { username: 'u', password: 'p' })
      assert.deepEqual(asked, [`/token?service=s&scope=repository%3Ateam%2Ftoken%3Apull Basic ${Buffer.from('u:p').toString('base64')}`])
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('a pull that is cut off goes on where it was, and one whose bytes are spoiled is refused', async () => {
    await registry.push('big', '1', [layerOf('big', 'tar', 3_000_000)])
    await using proxy = await startRegistryProxy(registry.host)
    proxy.cutAfterBytes = 500_000
    const store = await openStore()
    await store.pull(`${proxy.host}/big:1`, undefined)
    const from = proxy.ranges.map((range) => Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0)).filter((start) => start > 0)
    assert.equal(from.length, 1)
    assert.ok((from[0] ?? 0) >= 400_000)

    proxy.spoilsBlobs = true
    const where = join(directory, 'spoiled')
    const other = await openStore(where)
    await assert.rejects(other.pull(`${proxy.host}/big:1`, undefined), /unexpected commit digest sha256:[0-9a-f]+, expected sha256:/)
    assert.deepEqual([readdirSync(join(where, 'layers')), readdirSync(join(where, 'partial'))], [[], []])
    proxy.spoilsBlobs = false
    await other.pull(`${proxy.host}/big:1`, undefined)
  })

  test('a layer that is not what the configuration says is refused', async () => {
    await registry.push('lying', '1', [{ ...layerOf('not this'), diffId: `sha256:${'a'.repeat(64)}` }])
    const store = await openStore()
    await assert.rejects(store.pull(`${registry.host}/lying:1`, undefined), /wrong diff id calculated on extraction/)
  })

  test('mirrors are asked first, and the registry itself where they have nothing', async () => {
    await registry.push('team/mirrored', '1', [layerOf('mirrored')])
    const where = join(directory, 'mirrors')
    mkdirSync(where)
    writeFileSync(
      join(where, 'registries.json'),
      JSON.stringify({ mirrors: { 'registry.example': ['http://127.0.0.1:1', `http://${registry.host}`] } }),
    )
    const store = await openStore(where)
    await store.pull('registry.example/team/mirrored:1', undefined)
    assert.ok(store.find('registry.example/team/mirrored:1'))
  })

  test('a full disk is told of, and leaves nothing behind', { skip: isRoot ? false : 'a small disk needs root' }, async () => {
    await registry.push('large', '1', [layerOf('large', 'tar', 3_000_000)])
    await registry.push('little', '1', [layerOf('little')])
    const where = join(directory, 'small-disk')
    mkdirSync(where)
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', where]).status, 0)
    try {
      const store = await openStore(where)
      await assert.rejects(store.pull(`${registry.host}/large:1`, undefined), /ENOSPC/)
      assert.deepEqual([readdirSync(join(where, 'layers')), readdirSync(join(where, 'partial'))], [[], []])
      await store.pull(`${registry.host}/little:1`, undefined)
    } finally {
      spawnSync('umount', ['-l', where])
    }
  })

  test('the machine itself is an image, and is never fetched nor removed', async () => {
    const store = await openStore()
    const id = await store.pull('host', undefined)
    await store.remove('host')
    assert.deepEqual([store.find('host')?.id, store.find('host')?.layers], [id, ['/']])
  })

  test('a hostile archive writes nothing outside of its layer', async () => {
    const outside = join(directory, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'file'), 'untouched')
    const tar = writeTar([
      { path: 'out', kind: 'symlink', target: outside },
      { path: 'out/file', content: Buffer.from('by a link') },
      { path: '../../../../../../../../outside-by-dots', content: Buffer.from('by dots') },
      { path: `${outside}/absolute`, content: Buffer.from('by an absolute path') },
      { path: 'up', kind: 'symlink', target: '../../../..' },
      { path: 'up/tmp/by-relative-link', content: Buffer.from('by a relative link') },
    ])
    await registry.push('hostile', '1', [{ bytes: tar, diffId: digestOf(tar), mediaType: 'application/vnd.oci.image.layer.v1.tar' }])
    const store = await openStore()
    await store.pull(`${registry.host}/hostile:1`, undefined)
    const [layer = ''] = store.find(`${registry.host}/hostile:1`)?.layers ?? []
    assert.equal(readFileSync(join(outside, 'file'), 'utf8'), 'untouched')
    assert.deepEqual(readdirSync(outside), ['file'])
    assert.ok(!existsSync('/outside-by-dots') && !existsSync('/tmp/by-relative-link'))
    assert.equal(readFileSync(join(layer, 'outside-by-dots'), 'utf8'), 'by dots')
    assert.equal(readFileSync(join(layer, outside, 'file'), 'utf8'), 'by a link')
    assert.ok(lstatSync(join(layer, 'out')).isSymbolicLink())
    assert.equal(statSync(join(layer, 'tmp/by-relative-link')).size, 18)
  })
})
