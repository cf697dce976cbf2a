/** A registry of images on the loopback, for tests of pulling: serves what an image archive holds, to those who may have it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readImageArchive } from '#wire/oci/read-image-archive.ts'

export type TestRegistry = AsyncDisposable & {
  /** `127.0.0.1:port`: containerd asks registries there without TLS. */
  readonly host: string
  /** Method and path of what was asked for. */
  readonly requests: string[]
}

/** Every name and tag gives the archive's first image. Below `private/` only `user` with `password` may look. */
export async function startRegistry(archive: Uint8Array): Promise<TestRegistry> {
  const source = { readAt: async (position: number, size: number) => archive.subarray(position, position + size) }
  const [image] = await readImageArchive(source)
  if (image === undefined) throw new Error('the archive holds no image')
  const blobs = new Map(
    image.blobs.map(({ digest, sizeBytes, content }) => [
      digest,
      'bytes' in content ? content.bytes : archive.subarray(content.position, content.position + sizeBytes),
    ]),
  )
  const requests: string[] = []
  const server = createServer((request, response) => {
    const { url = '', method = '', headers } = request
    requests.push(`${method} ${url}`)
    const expected = `Basic ${Buffer.from('user:password').toString('base64')}`
    if (url.startsWith('/v2/private/') && headers.authorization !== expected) {
      return response.writeHead(401, { 'www-authenticate': 'Basic realm="tests"' }).end()
    }
    const [, , kind, reference = ''] = /^\/v2\/(.*)\/(manifests|blobs)\/(.+)$/.exec(url) ?? []
    const isMissing = url.includes('/missing/')
    const digest = kind === 'manifests' && !reference.startsWith('sha256:') ? image.target.digest : reference
    const content = isMissing ? undefined : blobs.get(digest)
    if (url === '/v2/') return response.writeHead(200).end('{}')
    if (content === undefined) return response.writeHead(404).end()
    const type = kind === 'manifests' ? image.target.mediaType : 'application/octet-stream'
    response.writeHead(200, { 'content-type': type, 'content-length': content.byteLength, 'docker-content-digest': digest })
    return response.end(method === 'HEAD' ? undefined : content)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
