import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ImageContent, writeImageArchive } from '#wire/oci/image-archive.ts'
import { readImageArchive } from '#wire/oci/read-image-archive.ts'
import { writeTar } from '#wire/tar.ts'

const sourceOf = (bytes: Uint8Array) => ({ readAt: async (position: number, size: number) => bytes.subarray(position, position + size) })

const image: ImageContent = {
  name: 'example.com/app:1',
  architecture: 'amd64',
  layers: [[{ path: 'a', content: Buffer.from('1') }], [{ path: 'b', content: Buffer.from('2') }]],
  config: { Cmd: ['/a'] },
}

test('an image that is written is read again, its parts before what names them', async () => {
  const archive = writeImageArchive([image])
  assert.deepEqual(archive, writeImageArchive([image]))
  const [read] = await readImageArchive(sourceOf(archive))
  assert.deepEqual(read?.names, ['example.com/app:1'])
  const digests = read?.blobs.map(({ digest }) => digest) ?? []
  assert.equal(digests.length, 4)
  assert.equal(digests.at(-1), read?.target.digest)
  const manifest = read?.blobs.at(-1)
  assert.deepEqual(
    manifest?.children.map(({ key }) => key),
    ['config', 'l.0', 'l.1'],
  )
  for (const { digest } of manifest?.children ?? []) assert.ok(digests.includes(digest))
})

test('layers that images share are written once', async () => {
  const one = writeImageArchive([image])
  const two = writeImageArchive([image, { ...image, name: 'example.com/app:2' }])
  assert.ok(two.length < one.length + 1024)
})

test('an archive of something else is refused', async () => {
  await assert.rejects(readImageArchive(sourceOf(writeTar([{ path: 'readme' }]))), /neither index\.json nor manifest\.json/)
})
