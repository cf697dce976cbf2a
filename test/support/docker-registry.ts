/** Debian's docker-registry on the loopback, and a way to it that cuts, spoils and counts. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as ask, createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { freePort } from './free-port.ts'

export function whyNoRegistry(): string | false {
  return spawnSync('sh', ['-c', 'command -v docker-registry']).status === 0 ? false : 'not installed: docker-registry'
}

/** Of `password`, for bcrypt is all that the registry takes. */
const passwordHash = '$2b$05$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu'

export type DockerRegistry = AsyncDisposable & {
  readonly host: string
  /** Resolves with the digest of its manifest. */
  push(name: string, tag: string, layers: readonly PushedLayer[]): Promise<string>
  /** Lists manifests by machine. */
  pushIndex(name: string, tag: string, manifests: readonly { digest: string; sizeBytes: number; architecture: string }[]): Promise<void>
}

export type PushedLayer = { bytes: Uint8Array; diffId: string; mediaType: string }

export const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** With a user `user` whose password is `password`, where there shall be one. */
export async function startDockerRegistry({ hasUsers = false } = {}): Promise<DockerRegistry> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-registry-'))
  const port = await freePort()
  const host = `127.0.0.1:${port}`
  writeFileSync(join(directory, 'users'), `user:${passwordHash}\n`)
  const users = hasUsers ? `auth:\n  htpasswd:\n    realm: tests\n    path: ${directory}/users\n` : ''
  const storage = `storage:\n  filesystem:\n    rootdirectory: ${directory}/data\n`
  writeFileSync(join(directory, 'config.yml'), `version: 0.1\nlog:\n  level: error\n${storage}http:\n  addr: ${host}\n${users}`)
  const child: ChildProcess = spawn('docker-registry', ['serve', join(directory, 'config.yml')], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const authorization: Record<string, string> = hasUsers
    ? { authorization: `Basic ${Buffer.from('user:password').toString('base64')}` }
    : {}
  const call = async (method: string, url: string, body?: Uint8Array, headers: Record<string, string> = {}) => {
    const response = await fetch(new URL(url, `http://${host}`), {
      method,
      headers: { ...authorization, ...headers },
      ...(body ? { body: Buffer.from(body) } : {}),
    })
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`)
    await response.arrayBuffer()
    return response.headers
  }
  for (let tries = 0; ; tries++) {
    try {
      await call('GET', '/v2/')
      break
    } catch (error) {
      if (tries > 1200 || child.exitCode !== null) throw error
      await systemClock.sleep(50)
    }
  }
  const pushBlob = async (name: string, bytes: Uint8Array) => {
    const place = (await call('POST', `/v2/${name}/blobs/uploads/`)).get('location') ?? ''
    const url = new URL(place, `http://${host}`)
    url.searchParams.set('digest', digestOf(bytes))
    await call('PUT', url.href, bytes, { 'content-type': 'application/octet-stream' })
    return { digest: digestOf(bytes), size: bytes.length }
  }
  const putManifest = async (name: string, reference: string, manifest: { mediaType: string }) => {
    const bytes = Buffer.from(JSON.stringify(manifest))
    await call('PUT', `/v2/${name}/manifests/${reference}`, bytes, { 'content-type': manifest.mediaType })
    return digestOf(bytes)
  }
  return {
    host,
    async push(name, tag, layers) {
      const config = {
        architecture: 'amd64',
        os: 'linux',
        config: { Cmd: ['/hello'] },
        rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      }
      const described = await pushBlob(name, Buffer.from(JSON.stringify(config)))
      const pushed = []
      for (const { bytes, mediaType } of layers) pushed.push({ mediaType, ...(await pushBlob(name, bytes)) })
      const mediaType = 'application/vnd.oci.image.manifest.v1+json'
      return putManifest(name, tag, {
        schemaVersion: 2,
        mediaType,
        config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...described },
        layers: pushed,
      } as never)
    },
    async pushIndex(name, tag, manifests) {
      const mediaType = 'application/vnd.oci.image.index.v1+json'
      const listed = manifests.map(({ digest, sizeBytes, architecture }) => ({
        ...{ mediaType: 'application/vnd.oci.image.manifest.v1+json', digest, size: sizeBytes },
        platform: { os: 'linux', architecture },
      }))
      await putManifest(name, tag, { schemaVersion: 2, mediaType, manifests: listed } as never)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

export type RegistryProxy = AsyncDisposable & {
  readonly host: string
  /** Of each request for a blob, from where on. */
  readonly ranges: string[]
  /** After so many bytes of a body the connection is cut, once. */
  cutAfterBytes: number | undefined
  /** A byte of each blob is another. */
  spoilsBlobs: boolean
}

export async function startRegistryProxy(target: string): Promise<RegistryProxy> {
  const proxy: Pick<RegistryProxy, 'ranges' | 'cutAfterBytes' | 'spoilsBlobs'> = {
    ranges: [],
    cutAfterBytes: undefined,
    spoilsBlobs: false,
  }
  const server: Server = createServer((incoming, outgoing) => {
    const [host = '', port = ''] = target.split(':')
    const isLayer = /\/blobs\//.test(incoming.url ?? '')
    if (isLayer) proxy.ranges.push(incoming.headers.range ?? 'all')
    const onward = ask({ host, port, path: incoming.url, method: incoming.method, headers: incoming.headers }, (response) => {
      const isLarge = Number(response.headers['content-length'] ?? 0) > 10_000
      const { location } = response.headers
      if (location !== undefined) response.headers.location = location.replace(target, proxy_host())
      outgoing.writeHead(response.statusCode ?? 500, response.headers)
      let passed = 0
      response.on('data', (piece: Buffer) => {
        if (isLayer && isLarge && proxy.spoilsBlobs && passed === 0) piece[piece.length - 1] = (piece[piece.length - 1] ?? 0) ^ 0xff
        passed += piece.length
        const limit = proxy.cutAfterBytes
        if (isLayer && isLarge && limit !== undefined && passed > limit) {
          proxy.cutAfterBytes = undefined
          outgoing.write(piece, () => outgoing.destroy())
          response.destroy()
          return
        }
        outgoing.write(piece)
      })
      response.on('end', () => outgoing.end())
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy_host = () => `127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(proxy, {
    host: proxy_host(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
