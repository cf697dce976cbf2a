/** Reads which images an archive holds, in OCI's layout or in Docker's older one, and which of its files they are made of. */
import { createHash } from 'node:crypto'
import { type Descriptor, digestOf } from '#wire/oci/image-archive.ts'
import { listTar, type TarPlace, type TarSource } from '#wire/tar.ts'

export type ArchivedImage = {
  /** As the archive has it: `busybox:latest`, `registry/repository:tag`. */
  names: string[]
  target: Descriptor
  /** Children before those that name them. */
  blobs: ArchivedBlob[]
}

export type ArchivedBlob = {
  digest: string
  sizeBytes: number
  /** The digests it names: what must be kept as long as it is. */
  children: { key: string; digest: string }[]
  content: { bytes: Uint8Array } | { position: number }
}

type Manifest = { config?: Descriptor; layers?: Descriptor[]; manifests?: Descriptor[] }
type DockerManifest = { Config: string; RepoTags?: string[] | null; Layers: string[] }

const dockerTypes = {
  manifest: 'application/vnd.docker.distribution.manifest.v2+json',
  config: 'application/vnd.docker.container.image.v1+json',
  layer: 'application/vnd.docker.image.rootfs.diff.tar',
  layerGzip: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
}
const nameAnnotations = ['io.containerd.image.name', 'org.opencontainers.image.ref.name']
const chunkBytes = 1024 * 1024

/** Throws with a sentence where the file is no archive of images. */
export async function readImageArchive(source: TarSource): Promise<ArchivedImage[]> {
  const archive = new Archive(source, await listTar(source))
  const docker = (await archive.json('manifest.json')) as DockerManifest[] | undefined
  const index = (await archive.json('index.json')) as Manifest | undefined
  if (index !== undefined) return Promise.all((index.manifests ?? []).map((target) => ociImage(archive, target, docker)))
  if (docker !== undefined) return Promise.all(docker.map((manifest) => dockerImage(archive, manifest)))
  throw new Error('the file is not an archive of images: it has neither index.json nor manifest.json')
}

async function ociImage(archive: Archive, target: Descriptor, docker: DockerManifest[] | undefined): Promise<ArchivedImage> {
  const blobs = new Map<string, ArchivedBlob>()
  await addTree(archive, target, blobs)
  const annotated = nameAnnotations.map((key) => target.annotations?.[key]).find((name) => name?.includes(':'))
  const { annotations: _, ...bare } = target
  const names = annotated === undefined ? (docker ?? []).flatMap(({ RepoTags }) => RepoTags ?? []) : [annotated]
  return { names, target: bare, blobs: [...blobs.values()] }
}

async function addTree(archive: Archive, descriptor: Descriptor, blobs: Map<string, ArchivedBlob>): Promise<void> {
  const { digest } = descriptor
  const place = archive.place(`blobs/${digest.replace(':', '/')}`)
  // Of an image for many kinds of machines an archive may hold that of one.
  if (blobs.has(digest) || place === undefined) return
  const children: ArchivedBlob['children'] = []
  if (/manifest|index/.test(descriptor.mediaType)) {
    const { config, layers = [], manifests = [] } = (await archive.jsonAt(place)) as Manifest
    if (config !== undefined) children.push({ key: 'config', digest: config.digest })
    for (const [at, layer] of layers.entries()) children.push({ key: `l.${at}`, digest: layer.digest })
    for (const [at, manifest] of manifests.entries()) children.push({ key: `m.${at}`, digest: manifest.digest })
    for (const each of [...(config === undefined ? [] : [config]), ...layers, ...manifests]) await addTree(archive, each, blobs)
  }
  blobs.set(digest, { digest, sizeBytes: place.sizeBytes, children, content: { position: place.position } })
}

/** There the layers have no digests, and nothing names them together: that is made here. */
async function dockerImage(archive: Archive, { Config, RepoTags, Layers }: DockerManifest): Promise<ArchivedImage> {
  const blobs: ArchivedBlob[] = []
  const add = async (path: string): Promise<{ digest: string; size: number; isGzip: boolean }> => {
    const place = archive.place(path)
    if (place === undefined) throw new Error(`the archive names ${path} and does not hold it`)
    const { digest, isGzip } = await archive.digestAt(place)
    blobs.push({ digest, sizeBytes: place.sizeBytes, children: [], content: { position: place.position } })
    return { digest, size: place.sizeBytes, isGzip }
  }
  const { isGzip: _, ...config } = await add(Config)
  const layers: Descriptor[] = []
  for (const path of Layers) {
    const { isGzip, ...layer } = await add(path)
    layers.push({ mediaType: isGzip ? dockerTypes.layerGzip : dockerTypes.layer, ...layer })
  }
  const manifest = { schemaVersion: 2, mediaType: dockerTypes.manifest, config: { mediaType: dockerTypes.config, ...config }, layers }
  const bytes = Buffer.from(JSON.stringify(manifest))
  const children = [{ key: 'config', digest: config.digest }, ...layers.map(({ digest }, at) => ({ key: `l.${at}`, digest }))]
  const digest = digestOf(bytes)
  blobs.push({ digest, sizeBytes: bytes.length, children, content: { bytes } })
  return { names: RepoTags ?? [], target: { mediaType: manifest.mediaType, digest, size: bytes.length }, blobs }
}

class Archive {
  readonly #source: TarSource
  readonly #places: ReadonlyMap<string, TarPlace>

  constructor(source: TarSource, places: readonly TarPlace[]) {
    this.#source = source
    this.#places = new Map(places.map((place) => [place.path.replace(/^\.\//, ''), place]))
  }

  /** Older archives have one layer several times, by links to the first. */
  place(path: string): TarPlace | undefined {
    const found = this.#places.get(path)
    if (found?.kind !== 'symlink' || found.target === undefined) return found
    return this.#places.get(new URL(found.target, `file:///${path}`).pathname.slice(1))
  }

  async json(path: string): Promise<unknown> {
    const place = this.place(path)
    return place === undefined ? undefined : this.jsonAt(place)
  }

  async jsonAt({ position, sizeBytes }: TarPlace): Promise<unknown> {
    return JSON.parse(Buffer.from(await this.#source.readAt(position, sizeBytes)).toString())
  }

  async digestAt({ position, sizeBytes }: TarPlace): Promise<{ digest: string; isGzip: boolean }> {
    const hash = createHash('sha256')
    let isGzip = false
    for (let at = 0; at < sizeBytes; at += chunkBytes) {
      const chunk = await this.#source.readAt(position + at, Math.min(chunkBytes, sizeBytes - at))
      if (at === 0) isGzip = chunk[0] === 0x1f && chunk[1] === 0x8b
      hash.update(chunk)
    }
    return { digest: `sha256:${hash.digest('hex')}`, isGzip }
  }
}
