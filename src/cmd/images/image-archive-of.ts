/** Makes one plain tar file of whatever images come in. */
import { join, relative } from 'node:path'
import { gunzipPieces } from '#base/compression.ts'
import { type Files, nodeFiles, type OpenFile } from '#base/files.ts'
import { nodeProcesses } from '#base/processes.ts'
import { thisTerminal } from '#base/terminal.ts'
import { tarEnd, tarHeader, tarPadding } from '#wire/tar.ts'

export type ArchiveOptions = {
  /** For an image of a layout directory that has no name in it. */
  name: string
  /** Hears how much has been read of a source that must be read first. */
  onProgress(doneBytes: number): void
}

export type ImageArchive = AsyncDisposable & { readonly path: string }

const chunkBytes = 1 << 20
/** Programs that keep images, and how they are asked for one. */
const stores = ['docker', 'podman', 'nerdctl'] as const

/** A file is taken as it is; anything else becomes a temporary one, gone when it is disposed of. */
export async function imageArchive(
  source: string,
  options: ArchiveOptions,
  { files = nodeFiles, input = () => thisTerminal.input() }: { files?: Files; input?: () => AsyncIterable<Uint8Array> } = {},
): Promise<ImageArchive> {
  const store = stores.find((name) => source.startsWith(`${name}:`))
  if (store !== undefined) return temporary(files, (path) => saveFromStore(store, source.slice(store.length + 1), path))
  if (source === '-') {
    return temporary(files, (path) => writePieces(files, path, unzipped(input()), options.onProgress))
  }
  const stat = await files.statTarget(source)
  if (stat === undefined) throw new Error(`there is no file ${source}`)
  if (stat.kind === 'directory')
    return temporary(files, (path) => writePieces(files, path, layoutTar(files, source, options.name), options.onProgress))
  await using file = await files.open(source, 'r')
  if (!isGzip(await file.readAt(0, 2))) return { path: source, [Symbol.asyncDispose]: async () => {} }
  return await temporary(files, (path) => writePieces(files, path, unzipped(piecesOf(file)), options.onProgress))
}

async function temporary(files: Files, make: (path: string) => Promise<void>): Promise<ImageArchive> {
  const directory = await files.temporaryDirectory('typernetes-images-')
  const remove = () => files.remove(directory)
  const path = join(directory, 'images.tar')
  try {
    await make(path)
  } catch (error) {
    await remove()
    throw error
  }
  return { path, [Symbol.asyncDispose]: remove }
}

async function saveFromStore(store: string, name: string, path: string): Promise<void> {
  const { exitCode, stderr } = await nodeProcesses.run(store, ['save', '-o', path, name]).catch(() => {
    throw new Error(`${store} is not installed`)
  })
  if (exitCode !== 0) throw new Error(`${store} save ${name}: ${stderr.trim().split('\n').at(-1)}`)
}

async function writePieces(
  files: Files,
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  onProgress: (doneBytes: number) => void,
): Promise<void> {
  await using file = await files.open(path, 'w', 0o600)
  let doneBytes = 0
  for await (const piece of pieces) {
    await file.write(piece)
    doneBytes += piece.length
    onProgress(doneBytes)
  }
  if (doneBytes === 0) throw new Error('nothing came in')
}

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/** As it is, or unpacked where it begins as gzip does. */
async function* unzipped(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return
  const all = (async function* () {
    yield first.value
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
  })()
  yield* isGzip(first.value) ? gunzipPieces(all) : all
}

async function* piecesOf(file: OpenFile): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; at += chunkBytes) {
    const bytes = await file.readAt(at, chunkBytes)
    if (bytes.length > 0) yield bytes
    if (bytes.length < chunkBytes) return
  }
}

/** A directory in OCI's layout, as an archive of the same layout. */
async function* layoutTar(files: Files, directory: string, name: string): AsyncGenerator<Uint8Array> {
  const index = await files.readTextIfPresent(join(directory, 'index.json'))
  if (index === undefined) throw new Error(`${directory} is not an OCI layout: it has no index.json`)
  const named = Buffer.from(withName(index, name))
  yield* [tarHeader({ path: 'index.json' }, named.length), named, tarPadding(named.length)]
  for (const path of await filesBelow(files, join(directory, 'blobs'))) {
    await using file = await files.open(path, 'r')
    const sizeBytes = await file.sizeBytes()
    yield tarHeader({ path: relative(directory, path).replaceAll('\\', '/') }, sizeBytes)
    yield* piecesOf(file)
    yield tarPadding(sizeBytes)
  }
  yield tarEnd
}

function withName(index: string, name: string): string {
  if (name === '') return index
  const { manifests = [], ...rest } = JSON.parse(index) as { manifests?: { annotations?: Record<string, string> }[] }
  const annotated = manifests.map((each) => ({ ...each, annotations: { ...each.annotations, 'io.containerd.image.name': name } }))
  return JSON.stringify({ ...rest, manifests: annotated })
}

async function filesBelow(files: Files, directory: string): Promise<string[]> {
  const found = await Promise.all(
    (await files.list(directory)).map(async (name) => {
      const path = join(directory, name)
      return (await files.stat(path))?.kind === 'directory' ? filesBelow(files, path) : [path]
    }),
  )
  return found.flat()
}
