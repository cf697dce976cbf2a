/** Brings images from files into containerd, through its own services at the socket where it speaks CRI. */
import { join, resolve } from 'node:path'
import { parseImageReference } from '#api/core/v1/pod-spec/image-reference.ts'
import type { Clock } from '#base/clock.ts'
import type { Files, OpenFile } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { ContainerdStore } from '#kubelet/images/containerd-store.ts'
import type { Architecture } from '#kubelet/images/pause-program.ts'
import { sandboxImageArchive, sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { importMethod } from '#wire/cri/import-images.ts'
import { type ArchivedBlob, readImageArchive } from '#wire/oci/read-image-archive.ts'

export type ImportSeams = {
  files: Files
  clock: Clock
  /** Hears how much of the images has been handed over. */
  onProgress?: (doneBytes: number, totalBytes: number) => void
}

const chunkBytes = 1024 * 1024
/** CRI hears of new images by events. */
const noticedWithinMs = 5000

/** Resolves with the names of the images that came in, once pods can use them. */
export async function importImages(
  client: CriConnection,
  archiveFile: string,
  { files, clock, onProgress }: ImportSeams,
): Promise<string[]> {
  await using file = await files.open(archiveFile, 'r')
  const images = await readImageArchive(file)
  const names: string[] = []
  try {
    await using store = await ContainerdStore.open(client.channel, clock)
    const totalBytes = images.flatMap(({ blobs }) => blobs).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    let doneBytes = 0
    for (const { names: given, target, blobs } of images) {
      if (given.length === 0) throw new Error(`an image of ${archiveFile} has no name`)
      for (const blob of blobs) {
        await store.write(blob, contentOf(blob, file))
        doneBytes += blob.sizeBytes
        onProgress?.(doneBytes, totalBytes)
      }
      for (const name of given.map(fullName)) {
        await store.setImage({ name, target })
        names.push(name)
      }
    }
  } catch (error) {
    if (!(error instanceof GrpcError) || error.code !== grpcCodes.unimplemented) throw error
    return importByRuntime(client, archiveFile, onProgress)
  }
  for (const name of names) await untilNoticed(client, name, clock)
  return names
}

/** Our own reads the file itself, and tells how far it is. */
async function importByRuntime(client: CriConnection, archiveFile: string, onProgress: ImportSeams['onProgress']): Promise<string[]> {
  const finished = Promise.withResolvers<string[]>()
  let names: readonly string[] | undefined
  const stream = client.channel.stream(importMethod.path, {
    onMessage(bytes) {
      const news = importMethod.decodeResponse(bytes)
      if ('names' in news) names = news.names
      else onProgress?.(news.doneBytes, news.totalBytes)
    },
    onEnd(error) {
      if (error !== undefined) finished.reject(error)
      else if (names === undefined) finished.reject(new Error('the runtime did not say which images came in'))
      else finished.resolve([...names])
    },
  })
  stream.send(importMethod.encodeRequest(resolve(archiveFile)))
  stream.end()
  try {
    return await finished.promise
  } catch (error) {
    if (!(error instanceof GrpcError) || error.code !== grpcCodes.unimplemented) throw error
    throw new Error('only containerd and our own runtime take images from files; this runtime has a command of its own for it')
  }
}

async function* contentOf({ content, sizeBytes }: ArchivedBlob, file: OpenFile): AsyncGenerator<Uint8Array> {
  if ('bytes' in content) return yield content.bytes
  for (let at = 0; at < sizeBytes; at += chunkBytes) yield file.readAt(content.position + at, Math.min(chunkBytes, sizeBytes - at))
}

/** Docker leaves out what is usual: `busybox` is `docker.io/library/busybox:latest`. */
function fullName(name: string): string {
  const parsed = parseImageReference(name)
  if (parsed === undefined) throw new Error(`${name} is not a valid name of an image`)
  const { repository, tag, digest } = parsed
  return `${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`
}

async function untilNoticed(client: CriConnection, image: string, clock: Clock): Promise<void> {
  const untilMs = clock.monotonic() + noticedWithinMs
  while ((await client.call('imageStatus', { image: { image } })).image === undefined) {
    if (clock.monotonic() > untilMs) throw new Error(`containerd has taken the image ${image} in, and does not show it`)
    await clock.sleep(10)
  }
}

/** Makes the image of sandboxes known to the runtime, by the name it is set up for, where it is not. */
export async function ensureSandboxImage(client: CriConnection, architecture: Architecture, seams: ImportSeams): Promise<void> {
  const name = await sandboxImageOf(client)
  const { image } = await client.call('imageStatus', { image: { image: name } })
  if (image !== undefined) return
  const directory = await seams.files.temporaryDirectory('typernetes-pause-')
  try {
    const file = join(directory, 'pause.tar')
    await seams.files.write(file, sandboxImageArchive(architecture, name))
    await importImages(client, file, seams)
  } finally {
    await seams.files.remove(directory)
  }
}

async function sandboxImageOf(client: CriConnection): Promise<string> {
  const { info } = await client.call('status', { verbose: true })
  const { sandboxImage } = JSON.parse(info['config'] ?? '{}') as { sandboxImage?: string }
  return sandboxImage || sandboxImageName
}
