/** Reads a tar archive as it comes, piece by piece: ustar with the extensions of pax and GNU. */

export type TarHeader = {
  path: string
  kind: 'file' | 'directory' | 'symlink' | 'link' | 'character' | 'block' | 'fifo'
  /** Where a link leads. */
  target: string
  mode: number
  uid: number
  gid: number
  sizeBytes: number
  modifiedSeconds: number
  device: { major: number; minor: number }
  /** By their full names: `security.capability`. */
  attributes: ReadonlyMap<string, Uint8Array>
}

export type TarListener = {
  onEntry(header: TarHeader): void
  /** Parts of the file that was told of last. */
  onData(bytes: Uint8Array): void
  onEntryEnd(): void
}

const blockBytes = 512
/** Names and attributes are small; more is no archive, or a trap. */
const longestExtension = 1 << 20

const kinds: Record<string, TarHeader['kind']> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'link',
  '2': 'symlink',
  '3': 'character',
  '4': 'block',
  '5': 'directory',
  '6': 'fifo',
}

export class TarReader {
  readonly #listener: TarListener
  readonly #block = Buffer.alloc(blockBytes)
  #filled = 0
  /** What is still to come of the entry, and of the space behind it. */
  #restBytes = 0
  #padBytes = 0
  #state: 'header' | 'content' | 'extension' | 'end' = 'header'
  #extension: { type: string; pieces: Buffer[] } | undefined
  #pax = new Map<string, Buffer>()
  #longName: string | undefined
  #longTarget: string | undefined

  constructor(listener: TarListener) {
    this.#listener = listener
  }

  push(bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'end') return
      if (this.#state === 'header') {
        const taken = Math.min(blockBytes - this.#filled, bytes.length - at)
        this.#block.set(bytes.subarray(at, at + taken), this.#filled)
        this.#filled += taken
        at += taken
        if (this.#filled === blockBytes) {
          this.#filled = 0
          this.#readHeader()
        }
        continue
      }
      const taken = Math.min(this.#restBytes, bytes.length - at)
      if (taken > 0) {
        const piece = bytes.subarray(at, at + taken)
        if (this.#state === 'content') this.#listener.onData(piece)
        else this.#extension?.pieces.push(Buffer.from(piece))
        this.#restBytes -= taken
        at += taken
      }
      if (this.#restBytes > 0) continue
      const skipped = Math.min(this.#padBytes, bytes.length - at)
      this.#padBytes -= skipped
      at += skipped
      if (this.#padBytes === 0) this.#finish()
    }
  }

  /** Throws where the archive ends in the middle of something. */
  end(): void {
    if (this.#state === 'content' || this.#state === 'extension' || this.#filled > 0) throw new Error('the archive is cut short')
  }

  #finish(): void {
    if (this.#state === 'content') this.#listener.onEntryEnd()
    else this.#takeExtension()
    this.#state = 'header'
  }

  #readHeader(): void {
    const block = this.#block
    if (block.every((byte) => byte === 0)) {
      // One empty block may stand between archives that were put together; two end it, and what follows is never an entry.
      return
    }
    this.#verify()
    const type = String.fromCharCode(block[156] ?? 0)
    const isExtension = 'xgLK'.includes(type)
    const pax = isExtension ? new Map<string, Buffer>() : this.#pax
    const sizeBytes = numberIn(pax.get('size')) ?? number(block, 124, 12)
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) throw new Error('an entry of the archive has no sensible size')
    if (isExtension) {
      if (sizeBytes > longestExtension) throw new Error('a name in the archive is too long')
      this.#extension = { type, pieces: [] }
      this.#expect('extension', sizeBytes)
      return
    }
    if ([...pax.keys()].some((key) => key.startsWith('GNU.sparse')))
      throw new Error('the archive has sparse files, which are not supported')
    const kind = kinds[type]
    if (kind === undefined) throw new Error(`the archive has an entry of the unknown type ${JSON.stringify(type)}`)
    const header = this.#header(kind, pax, sizeBytes)
    this.#pax = new Map()
    this.#longName = undefined
    this.#longTarget = undefined
    this.#listener.onEntry(header)
    this.#expect('content', header.sizeBytes)
  }

  #expect(state: 'content' | 'extension', sizeBytes: number): void {
    this.#state = state
    this.#restBytes = sizeBytes
    this.#padBytes = (blockBytes - (sizeBytes % blockBytes)) % blockBytes
    if (sizeBytes === 0) this.#finish()
  }

  #header(kind: TarHeader['kind'], pax: ReadonlyMap<string, Buffer>, sizeBytes: number): TarHeader {
    const block = this.#block
    const prefix = block.toString('latin1', 257, 262) === 'ustar' && block[262] === 0 ? text(block, 345, 155) : ''
    const name = text(block, 0, 100)
    const attributes = new Map<string, Uint8Array>()
    for (const [key, value] of pax) if (key.startsWith('SCHILY.xattr.')) attributes.set(key.slice('SCHILY.xattr.'.length), value)
    return {
      path: pax.get('path')?.toString() ?? this.#longName ?? (prefix === '' ? name : `${prefix}/${name}`),
      // Archives of old mark directories by their names alone.
      kind: kind === 'file' && name.endsWith('/') && sizeBytes === 0 ? 'directory' : kind,
      target: pax.get('linkpath')?.toString() ?? this.#longTarget ?? text(block, 157, 100),
      mode: number(block, 100, 8) & 0o7777,
      uid: numberIn(pax.get('uid')) ?? number(block, 108, 8),
      gid: numberIn(pax.get('gid')) ?? number(block, 116, 8),
      sizeBytes: kind === 'file' ? sizeBytes : 0,
      modifiedSeconds: numberIn(pax.get('mtime')) ?? number(block, 136, 12),
      device: { major: number(block, 329, 8), minor: number(block, 337, 8) },
      attributes,
    }
  }

  #verify(): void {
    const block = this.#block
    let sum = 8 * 32
    for (let at = 0; at < blockBytes; at++) if (at < 148 || at >= 156) sum += block[at] ?? 0
    if (sum !== number(block, 148, 8)) throw new Error('the archive is damaged: the sum of a header is wrong')
  }

  #takeExtension(): void {
    const { type = '', pieces = [] } = this.#extension ?? {}
    const content = Buffer.concat(pieces)
    this.#extension = undefined
    if (type === 'L') this.#longName = text(content, 0, content.length)
    else if (type === 'K') this.#longTarget = text(content, 0, content.length)
    // What a header says for all entries to come is left alone, as Go's archives do: it holds a comment, or costs each entry its size.
    else if (type === 'x') for (const [key, value] of paxRecords(content)) this.#pax.set(key, value)
  }
}

/** `LENGTH KEY=VALUE\n`, again and again. */
function* paxRecords(content: Buffer): Generator<[string, Buffer]> {
  let at = 0
  while (at < content.length) {
    const space = content.indexOf(32, at)
    const length = Number(content.toString('latin1', at, space))
    const equals = content.indexOf(61, space)
    const isWhole = Number.isInteger(length) && length > 0 && at + length <= content.length && content[at + length - 1] === 10
    if (space < 0 || equals < 0 || !isWhole || equals >= at + length) throw new Error('the archive is damaged: a pax header is wrong')
    yield [content.toString('utf8', space + 1, equals), Buffer.from(content.subarray(equals + 1, at + length - 1))]
    at += length
  }
}

function text(block: Buffer, at: number, length: number): string {
  const end = block.indexOf(0, at)
  return block.toString('utf8', at, end < 0 || end > at + length ? at + length : end)
}

/** Octal digits, or, where the first bit is set, a number of as many bytes. */
function number(block: Buffer, at: number, length: number): number {
  if (((block[at] ?? 0) & 0x80) === 0) return Number.parseInt(text(block, at, length).trim() || '0', 8)
  let value = BigInt((block[at] ?? 0) & 0x7f)
  for (let index = at + 1; index < at + length; index++) value = (value << 8n) | BigInt(block[index] ?? 0)
  return Number(value)
}

const numberIn = (value: Buffer | undefined): number | undefined => (value === undefined ? undefined : Math.floor(Number(value.toString())))
