/** Images of containers as one file: OCI's image layout in a tar archive. */
import { createHash } from 'node:crypto'
import { type TarEntry, writeTar } from '#wire/tar.ts'

export type ImageContent = {
  /** `registry/repository:tag` */
  name: string
  /** As Go names them: `amd64`, `arm64`. */
  architecture: string
  /** From the lowest to the topmost. */
  layers: readonly (readonly TarEntry[])[]
  config: ImageConfig
}

export type ImageConfig = {
  User?: string
  Env?: string[]
  Entrypoint?: string[]
  Cmd?: string[]
  WorkingDir?: string
  ExposedPorts?: Record<string, object>
  Volumes?: Record<string, object>
  StopSignal?: string
}

export type Descriptor = { mediaType: string; digest: string; size: number; annotations?: Record<string, string> }

const mediaTypes = {
  layer: 'application/vnd.oci.image.layer.v1.tar',
  config: 'application/vnd.oci.image.config.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
}

/** The same images give the same bytes. */
export function writeImageArchive(images: readonly ImageContent[]): Uint8Array {
  const blobs = new Map<string, Uint8Array>()
  const manifests = images.map((image) => addImage(image, blobs))
  const index = { schemaVersion: 2, mediaType: mediaTypes.index, manifests }
  return writeTar([
    { path: 'oci-layout', content: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
    { path: 'index.json', content: jsonBytes(index) },
    { path: 'blobs/', kind: 'directory' },
    { path: 'blobs/sha256/', kind: 'directory' },
    ...[...blobs].map(([digest, content]) => ({ path: `blobs/${digest.replace(':', '/')}`, content })),
  ])
}

function addImage({ name, architecture, layers, config }: ImageContent, blobs: Map<string, Uint8Array>): Descriptor {
  const add = (mediaType: string, content: Uint8Array): Descriptor => {
    const digest = digestOf(content)
    blobs.set(digest, content)
    return { mediaType, digest, size: content.byteLength }
  }
  const written = layers.map((entries) => add(mediaTypes.layer, writeTar(entries)))
  const description = {
    created: '1970-01-01T00:00:00Z',
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: written.map(({ digest }) => digest) },
    history: written.map(() => ({ created: '1970-01-01T00:00:00Z', created_by: 'typernetes' })),
  }
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: add(mediaTypes.config, jsonBytes(description)),
    layers: written,
  }
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1) }
  return { ...add(mediaTypes.manifest, jsonBytes(manifest)), annotations }
}

export function digestOf(content: Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}

const jsonBytes = (value: object): Uint8Array => Buffer.from(JSON.stringify(value))
