/** Archives in the tar format (ustar, with the longer names of pax and GNU when read). */

import { defined } from '#base/defined.ts'

export type TarEntry = {
  path: string
  content?: Uint8Array
  /** 0644 for files, 0755 for directories unless said otherwise. */
  mode?: number
  kind?: 'file' | 'directory' | 'symlink'
  /** Where a symlink points. */
  target?: string
  modifiedSeconds?: number
}

const blockBytes = 512
const typeFlags = { file: '0', directory: '5', symlink: '2' } as const

export function writeTar(entries: readonly TarEntry[]): Uint8Array {
  const parts: Uint8Array[] = []
  for (const entry of entries) {
    const content = entry.content ?? Buffer.alloc(0)
    parts.push(tarHeader(entry, content.byteLength), content, tarPadding(content.byteLength))
  }
  parts.push(tarEnd)
  return Buffer.concat(parts)
}

export function tarHeader({ path, kind = 'file', mode, target = '', modifiedSeconds = 0 }: TarEntry, sizeBytes: number): Buffer {
  const header = Buffer.alloc(blockBytes)
  const { prefix, name } = splitPath(path)
  if (Buffer.byteLength(target) > 100) throw new RangeError(`the target of ${path} is too long for an archive`)
  const octal = (value: number, at: number, width: number) => header.write(value.toString(8).padStart(width - 1, '0'), at)
  header.write(name, 0)
  octal(mode ?? (kind === 'file' ? 0o644 : 0o755), 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(sizeBytes, 124, 12)
  octal(modifiedSeconds, 136, 12)
  header.write(typeFlags[kind], 156)
  header.write(target, 157)
  header.write('ustar\u000000', 257)
  header.write(prefix, 345)
  // The sum is taken with its own field full of spaces.
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148)
  return header
}

function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path }
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const prefix = path.slice(0, at)
    const name = path.slice(at + 1)
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100 && name !== '') return { prefix, name }
  }
  throw new RangeError(`the path ${path} is too long for an archive`)
}

/** A part of an archive, read where it lies: archives of images may be larger than memory. */
/** What follows the content of a file, up to the next entry. */
export const tarPadding = (sizeBytes: number): Uint8Array => Buffer.alloc((blockBytes - (sizeBytes % blockBytes)) % blockBytes)

/** What ends an archive. */
export const tarEnd: Uint8Array = Buffer.alloc(1024)

export type TarSource = { readAt(position: number, sizeBytes: number): Promise<Uint8Array> }

export type TarPlace = Omit<TarEntry, 'content'> & { position: number; sizeBytes: number }

/** Where the files of an archive lie in it, in its order. */
export async function listTar(source: TarSource): Promise<TarPlace[]> {
  const places: TarPlace[] = []
  let longName: string | undefined
  for (let at = 0; ; ) {
    const header = bufferOf(await source.readAt(at, blockBytes))
    if (header.length === 0 || header.every((byte) => byte === 0)) return places
    if (header.length < blockBytes || !header.subarray(257, 262).equals(magic)) throw new RangeError('the file is not a valid tar archive')
    const sizeBytes = Number.parseInt(textAt(header, 124, 12).trim() || '0', 8)
    const position = at + blockBytes
    if (!(sizeBytes >= 0)) throw new RangeError('the archive is damaged')
    at = position + Math.ceil(sizeBytes / blockBytes) * blockBytes
    const flag = textAt(header, 156, 1)
    if (flag === 'L' || flag === 'x') {
      if (sizeBytes > longestNameBytes) throw new RangeError('the archive is damaged')
      const content = bufferOf(await source.readAt(position, sizeBytes))
      longName =
        flag === 'L' ? textAt(content, 0, content.length) : (/(?:^|\n)\d+ path=([^\n]*)\n/.exec(content.toString())?.[1] ?? longName)
      continue
    }
    if (flag === 'g') continue
    const kind = flag === '5' ? 'directory' : flag === '2' ? 'symlink' : 'file'
    const prefix = textAt(header, 345, 155)
    const path = longName ?? (prefix === '' ? textAt(header, 0, 100) : `${prefix}/${textAt(header, 0, 100)}`)
    longName = undefined
    const mode = Number.parseInt(textAt(header, 100, 8).trim() || '0', 8)
    places.push({
      path,
      kind,
      mode,
      position,
      sizeBytes,
      ...defined({ target: kind === 'symlink' ? textAt(header, 157, 100) : undefined }),
    })
  }
}

const magic = Buffer.from('ustar')
const longestNameBytes = 1024 * 1024

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function textAt(bytes: Buffer, start: number, size: number): string {
  const field = bytes.subarray(start, start + size)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end === -1 ? field.length : end)
}
