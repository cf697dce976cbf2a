/** Images as volumes: what of them a container sees. */
import { join, posix } from 'node:path'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { StoredImage } from '#runtime/images/stored-image.ts'
import type { ImagePart } from '#runtime/launch/process-spec.ts'
import type { CriMount } from '#wire/cri/cri-types.ts'

export async function imagePart(
  { image, imageSubPath = '' }: CriMount,
  findImage: (name: string) => StoredImage | undefined,
  files: Files,
): Promise<ImagePart & { isFile: boolean }> {
  const name = image?.image ?? ''
  const found = findImage(name)
  if (found === undefined) throw new GrpcError(grpcCodes.notFound, `image volume: image "${name}" is not there`)
  const lowerDirectories = found.layers.toReversed()
  const path = posix.normalize(`/${imageSubPath}`).slice(1).replace(/\/$/, '')
  const parts = path === '' ? [] : path.split('/')
  let isFile = false
  for (const depth of parts.keys()) {
    const kind = await kindOf(parts.slice(0, depth + 1).join('/'), lowerDirectories, files)
    // The launch opens it while the node's tree is still there: a link would lead into that.
    if (kind === 'symlink') throw new GrpcError(grpcCodes.invalidArgument, `image volume: sub path "${imageSubPath}" goes by way of a link`)
    if (kind !== 'directory' && kind !== 'file') {
      throw new GrpcError(grpcCodes.notFound, `image volume: sub path "${imageSubPath}" is not in the image "${name}"`)
    }
    isFile = kind === 'file'
  }
  return { lowerDirectories, path, isFile }
}

/** As the uppermost layer that has it has it. */
async function kindOf(path: string, layers: readonly string[], files: Files): Promise<string | undefined> {
  for (const layer of layers) {
    const found = await files.stat(join(layer, path))
    if (found !== undefined) return found.kind
  }
  return undefined
}
