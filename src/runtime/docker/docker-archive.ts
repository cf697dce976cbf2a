/** Archives of images as every Docker reads them: older ones know `manifest.json` alone, and not OCI's layout. */
import type { OpenFile } from '#base/files.ts'
import { isIndex, type Manifest, partsOf, pickPlatform } from '#runtime/images/image-manifest.ts'
import { type ArchivedImage, readImageArchive } from '#wire/oci/read-image-archive.ts'
import { listTar, tarHeader, tarPadding } from '#wire/tar.ts'

const chunkBytes = 1 << 20

/** The archive's bytes, with a manifest of Docker's before them where there is none. Throws where the file is no archive of images. */
export async function* dockerArchive(file: OpenFile, architecture: string): AsyncGenerator<Uint8Array> {
  const hasManifest = (await listTar(file)).some(({ path }) => path.replace(/^\.\//, '') === 'manifest.json')
  if (!hasManifest) {
    const images = await readImageArchive(file)
    const manifest = Buffer.from(JSON.stringify(await Promise.all(images.map((image) => manifestOf(image, file, architecture)))))
    yield Buffer.concat([tarHeader({ path: 'manifest.json' }, manifest.length), manifest, tarPadding(manifest.length)])
  }
  for (let at = 0; ; at += chunkBytes) {
    const piece = await file.readAt(at, chunkBytes)
    if (piece.length > 0) yield piece
    if (piece.length < chunkBytes) return
  }
}

async function manifestOf({ names, target, blobs }: ArchivedImage, file: OpenFile, architecture: string) {
  const json = async (digest: string): Promise<Manifest> => {
    const blob = blobs.find((each) => each.digest === digest)
    if (blob === undefined || !('position' in blob.content)) throw new Error(`the archive names ${digest} and does not hold it`)
    return JSON.parse(Buffer.from(await file.readAt(blob.content.position, blob.sizeBytes)).toString()) as Manifest
  }
  const top = await json(target.digest)
  const held = { manifests: (top.manifests ?? []).filter(({ digest }) => blobs.some((each) => each.digest === digest)) }
  const { config, layers } = partsOf(isIndex(target.mediaType, top) ? await json(pickPlatform(held, architecture).digest) : top)
  const path = (digest: string) => `blobs/${digest.replace(':', '/')}`
  return { Config: path(config.digest), RepoTags: names, Layers: layers.map(({ digest }) => path(digest)) }
}
