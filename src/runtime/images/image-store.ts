/** The images on this node: names, configurations, and layers that are unpacked once however many images have them. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { parseImageReference } from '#api/core/v1/pod-spec/image-reference.ts'
import type { Clock } from '#base/clock.ts'
import type { Files, OpenFile } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { HttpClient } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'
import { downloadBlob } from '#runtime/images/download-blob.ts'
import {
  type ConfigFile,
  type Descriptor,
  isIndex,
  type Manifest,
  parseConfigFile,
  partsOf,
  pickPlatform,
} from '#runtime/images/image-manifest.ts'
import { LayerUnpacker } from '#runtime/images/layer-unpacker.ts'
import { endpointsOf, type RegistrySettings } from '#runtime/images/registries.ts'
import { RegistryClient } from '#runtime/images/registry-client.ts'
import type { StoredImage } from '#runtime/images/stored-image.ts'
import type { AuthConfig } from '#wire/cri/cri-types.ts'
import { type ArchivedBlob, type ArchivedImage, readImageArchive } from '#wire/oci/read-image-archive.ts'

export type ImageStoreOptions = {
  directory: string
  files: Files
  clock: Clock
  logger: Logger
  architecture: string
  http(): HttpClient
  isRootless: boolean
  keepsOwners: boolean
  /** Whether containers are made of it. */
  isUsed(imageId: string): boolean
}

/** The machine's own root, for a first pod that needs no network. */
const hostImageName = 'docker.io/library/host:latest'
const downloadsAtOnce = 3
const progressMs = 5000

/** Where a layer lies that is to be unpacked. */
type LayerSource = { path: string; start: number; sizeBytes: number }

export class ImageStore {
  readonly #options: ImageStoreOptions
  readonly #unpacker = new LayerUnpacker()
  readonly #images = new Map<string, StoredImage>()
  /** Layers that are being unpacked. */
  readonly #unpacking = new Map<string, Promise<void>>()
  #saving: Promise<void> = Promise.resolve()
  #pulling = 0
  #count = 0

  private constructor(options: ImageStoreOptions) {
    this.#options = options
  }

  static async open(options: ImageStoreOptions): Promise<ImageStore> {
    const store = new ImageStore(options)
    const { files, directory } = options
    await files.makeDirectory(join(directory, 'layers'))
    const text = await files.readTextIfPresent(join(directory, 'images.json'))
    for (const image of text === undefined ? [] : (JSON.parse(text) as StoredImage[])) store.#images.set(image.id, image)
    const id = `sha256:${createHash('sha256').update('the root of this machine').digest('hex')}`
    const config = { Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'] }
    // Upstream's agent takes an image without a size for one that is not there.
    const sizeBytes = 1
    store.#images.set(id, { id, repoTags: [hostImageName], repoDigests: [], sizeBytes, config, layers: ['/'], isPinned: true })
    await store.#sweep()
    return store
  }

  all(): StoredImage[] {
    return [...this.#images.values()]
  }

  /** By name, by name and digest, by id or the beginning of one. */
  find(name: string): StoredImage | undefined {
    const byId = this.#images.get(name) ?? this.#images.get(`sha256:${name}`)
    if (byId !== undefined) return byId
    const full = fullNames(name)
    for (const image of this.#images.values()) {
      if (full.some((each) => image.repoTags.includes(each) || image.repoDigests.includes(each))) return image
    }
    if (!/^[0-9a-f]{8,63}$/.test(name)) return undefined
    const found = this.all().filter(({ id }) => id.startsWith(`sha256:${name}`))
    return found.length === 1 ? found[0] : undefined
  }

  /** Resolves with the image's id. */
  async pull(name: string, auth: AuthConfig | undefined): Promise<string> {
    const reference = parseImageReference(name)
    if (reference === undefined)
      throw new GrpcError(grpcCodes.invalidArgument, `failed to parse image reference "${name}": invalid reference format`)
    const { repository, tag, digest } = reference
    const full = `${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`
    if (full === hostImageName) return this.find(full)?.id ?? ''
    using http = this.#options.http()
    try {
      return await this.#pullWith(http, { repository, tag, digest }, auth)
    } catch (error) {
      const code = error instanceof GrpcError ? error.code : grpcCodes.unknown
      const message = error instanceof Error ? error.message : String(error)
      throw new GrpcError(/not found$/.test(message) ? grpcCodes.notFound : code, `failed to pull and unpack image "${full}": ${message}`)
    }
  }

  /** Resolves with the names of the images that came in; `onProgress` hears of each layer. */
  async import(archiveFile: string, onProgress: (doneBytes: number, totalBytes: number) => void = () => {}): Promise<string[]> {
    await using file = await this.#options.files.open(archiveFile, 'r')
    const names: string[] = []
    const images = await readImageArchive(file)
    const totalBytes = images.flatMap(({ blobs }) => blobs).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    let doneBytes = 0
    for (const image of images) {
      if (image.names.length === 0) throw new Error(`an image of ${archiveFile} has no name`)
      const onLayer = (sizeBytes: number) => {
        doneBytes += sizeBytes
        onProgress(doneBytes, totalBytes)
      }
      names.push(...(await this.#importOne(image, archiveFile, file, onLayer)))
    }
    onProgress(totalBytes, totalBytes)
    return names
  }

  /** A name alone is taken away where the image has others, or containers are made of it. */
  async remove(name: string): Promise<void> {
    const image = this.find(name)
    if (image === undefined || image.isPinned) return
    const full = fullNames(name)
    const isName = full.some((each) => image.repoTags.includes(each))
    const repoTags = isName ? image.repoTags.filter((each) => !full.includes(each)) : []
    if (this.#options.isUsed(image.id)) this.#images.set(image.id, { ...image, repoTags, repoDigests: isName ? image.repoDigests : [] })
    else if (repoTags.length > 0) this.#images.set(image.id, { ...image, repoTags })
    else this.#images.delete(image.id)
    await this.#save()
    await this.#sweep()
  }

  usedBytes(): number {
    const sizes = new Map(
      this.all().flatMap(({ layers, sizeBytes }) => layers.map((layer) => [layer, sizeBytes / Math.max(1, layers.length)] as const)),
    )
    return Math.round([...sizes.values()].reduce((sum, each) => sum + each, 0))
  }

  async #pullWith(
    http: HttpClient,
    reference: { repository: string; tag: string | undefined; digest: string | undefined },
    auth: AuthConfig | undefined,
  ): Promise<string> {
    const { files, clock, logger, architecture, directory } = this.#options
    const [registry = ''] = reference.repository.split('/', 1)
    const endpoints = endpointsOf(registry, await this.#settings())
    const client = new RegistryClient({ http, endpoints, auth, registry, repository: reference.repository.slice(registry.length + 1) })
    const top = await client.manifest(reference.digest ?? reference.tag ?? 'latest')
    let manifest = JSON.parse(Buffer.from(top.bytes).toString()) as Manifest
    if (isIndex(top.mediaType, manifest)) {
      const picked = await client.manifest(pickPlatform(manifest, architecture).digest)
      manifest = JSON.parse(Buffer.from(picked.bytes).toString()) as Manifest
    }
    const parts = partsOf(manifest)
    const total = parts.layers.reduce((sum, { size }) => sum + size, 0)
    let done = 0
    const partial = join(directory, 'partial')
    const onBytes = (count: number) => {
      done += count
    }
    const seams = { files, clock, directory: partial, onBytes }
    const name = `${reference.repository}${reference.tag === undefined ? '' : `:${reference.tag}`}`
    const config = await downloadBlob(client, parts.config, seams)
    const progress = clock.every(progressMs, () => logger.info('pulling image', { image: name, doneBytes: done, totalBytes: total }))
    this.#pulling++
    try {
      const configFile = parseConfigFile(await files.readText(config))
      const diffIds = configFile.rootfs?.diff_ids ?? []
      if (diffIds.length !== parts.layers.length) throw new Error('the image has another number of layers than its configuration says')
      await inTurns(parts.layers, downloadsAtOnce, async (layer, index) => {
        const diffId = diffIds[index] ?? ''
        if (await this.#hasLayer(diffId)) return
        const path = await downloadBlob(client, layer, seams)
        await this.#unpack(diffId, { path, start: 0, sizeBytes: layer.size })
        await files.remove(path)
      })
      return await this.#add({
        ...{ id: parts.config.digest, configFile, sizeBytes: total + parts.config.size },
        repoTags: reference.tag === undefined ? [] : [name],
        repoDigests: [`${reference.repository}@${top.digest}`],
      })
    } finally {
      this.#pulling--
      progress.cancel()
      await files.remove(config)
    }
  }

  async #importOne(
    { names, target, blobs }: ArchivedImage,
    archiveFile: string,
    file: OpenFile,
    onLayer: (sizeBytes: number) => void,
  ): Promise<string[]> {
    const byDigest = new Map(blobs.map((blob) => [blob.digest, blob]))
    const find = (digest: string): ArchivedBlob => {
      const blob = byDigest.get(digest)
      if (blob === undefined) throw new Error(`the archive names ${digest} and does not hold it`)
      return blob
    }
    const json = async (digest: string): Promise<unknown> => {
      const bytes = await bytesOf(find(digest), file)
      const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
      if (found !== digest) throw new Error(`the archive is damaged: ${digest} is ${found}`)
      return JSON.parse(Buffer.from(bytes).toString())
    }
    let manifest = (await json(target.digest)) as Manifest
    if (isIndex(target.mediaType, manifest)) {
      const here = { manifests: (manifest.manifests ?? []).filter(({ digest }) => byDigest.has(digest)) }
      manifest = (await json(pickPlatform(here, this.#options.architecture).digest)) as Manifest
    }
    const parts = partsOf(manifest)
    const configFile = parseConfigFile(JSON.stringify(await json(parts.config.digest)))
    const diffIds = configFile.rootfs?.diff_ids ?? []
    for (const [index, layer] of parts.layers.entries()) {
      const { content, sizeBytes } = find(layer.digest)
      if ('bytes' in content) throw new Error('a layer of the archive is not in it')
      await this.#unpack(diffIds[index] ?? '', { path: archiveFile, start: content.position, sizeBytes })
      onLayer(sizeBytes)
    }
    const repoTags = names.map((name) => fullNames(name)[0] ?? name)
    const sizeBytes = parts.layers.reduce((sum: number, { size }: Descriptor) => sum + size, parts.config.size)
    await this.#add({ id: parts.config.digest, configFile, sizeBytes, repoTags, repoDigests: [] })
    return repoTags
  }

  async #add(given: { id: string; configFile: ConfigFile; sizeBytes: number; repoTags: string[]; repoDigests: string[] }): Promise<string> {
    const { id, configFile, sizeBytes, repoTags, repoDigests } = given
    // A name that moves is another image's from now on.
    for (const image of this.#images.values()) {
      const left = image.repoTags.filter((name) => !repoTags.includes(name))
      if (left.length < image.repoTags.length && image.id !== id) this.#images.set(image.id, { ...image, repoTags: left })
    }
    const before = this.#images.get(id)
    const union = (one: readonly string[] = [], other: readonly string[]) => [...new Set([...one, ...other])]
    const layers = (configFile.rootfs?.diff_ids ?? []).map((diffId) => this.#layerDirectory(diffId))
    const names = { repoTags: union(before?.repoTags, repoTags), repoDigests: union(before?.repoDigests, repoDigests) }
    this.#images.set(id, { id, ...names, sizeBytes, config: configFile.config ?? {}, layers, isPinned: false })
    await this.#save()
    return id
  }

  async #unpack(diffId: string, source: LayerSource): Promise<void> {
    if (!/^sha256:[0-9a-f]{64}$/.test(diffId)) throw new Error(`the image names a layer ${JSON.stringify(diffId)}, which is no digest`)
    const under = this.#unpacking.get(diffId)
    if (under !== undefined) return under
    const unpacking = this.#unpackOnce(diffId, source).finally(() => this.#unpacking.delete(diffId))
    this.#unpacking.set(diffId, unpacking)
    return unpacking
  }

  async #unpackOnce(diffId: string, source: LayerSource): Promise<void> {
    if (await this.#hasLayer(diffId)) return
    const { files, isRootless, keepsOwners, directory } = this.#options
    const draft = join(directory, 'layers', `draft-${this.#count++}`)
    try {
      const found = await this.#unpacker.unpack({ ...source, directory: draft, isRootless, keepsOwners })
      if (found.diffId !== diffId) throw new Error(`wrong diff id calculated on extraction "${found.diffId}", expected "${diffId}"`)
      await files.rename(draft, this.#layerDirectory(diffId))
    } catch (error) {
      await files.remove(draft)
      throw error
    }
  }

  #layerDirectory(diffId: string): string {
    // Short: the kernel takes a page of options for all layers together.
    return join(this.#options.directory, 'layers', diffId.slice('sha256:'.length, 'sha256:'.length + 24))
  }

  async #hasLayer(diffId: string): Promise<boolean> {
    return (await this.#options.files.stat(this.#layerDirectory(diffId))) !== undefined
  }

  async #settings(): Promise<RegistrySettings> {
    const text = await this.#options.files.readTextIfPresent(join(this.#options.directory, 'registries.json'))
    return text === undefined ? {} : (JSON.parse(text) as RegistrySettings)
  }

  #save(): Promise<void> {
    const { files, directory } = this.#options
    const write = () => files.write(join(directory, 'images.json'), JSON.stringify(this.all().filter(({ isPinned }) => !isPinned)))
    this.#saving = this.#saving.then(write, write)
    return this.#saving
  }

  /** Layers of no image, and what was never finished. */
  async #sweep(): Promise<void> {
    const { files, directory } = this.#options
    // What a pull has unpacked belongs to no image until all its layers are there.
    if (this.#unpacking.size > 0 || this.#pulling > 0) return
    const used = new Set(this.all().flatMap(({ layers }) => layers))
    for (const name of await files.list(join(directory, 'layers'))) {
      const path = join(directory, 'layers', name)
      if (!used.has(path)) await files.remove(path)
    }
  }
}

function fullNames(name: string): string[] {
  const parsed = parseImageReference(name)
  if (parsed === undefined) return []
  const { repository, tag, digest } = parsed
  // What is named by both is what the digest says.
  return digest === undefined ? [`${repository}:${tag ?? 'latest'}`] : [`${repository}@${digest}`]
}

async function bytesOf({ content, sizeBytes }: ArchivedBlob, file: OpenFile): Promise<Uint8Array> {
  return 'bytes' in content ? content.bytes : file.readAt(content.position, sizeBytes)
}

async function inTurns<T>(items: readonly T[], atOnce: number, work: (item: T, index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) await work(items[index] as T, index)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
}
