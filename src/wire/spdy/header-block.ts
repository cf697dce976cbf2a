/** Header blocks of SPDY/3: names and values, compressed as one stream over the whole life of a connection. */
import { headerDictionary, headerDictionaryId } from '#wire/spdy/header-dictionary.ts'
import { Inflater } from '#wire/spdy/inflate.ts'

/** Names in lower case. */
export type SpdyHeaders = Readonly<Record<string, string>>

const limitBytes = 1 << 20

export class HeaderReader {
  readonly #inflater = new Inflater(headerDictionary, limitBytes)
  #isFirst = true
  /** Of all blocks so far, unpacked. */
  sizeBytes = 0

  /** Blocks must be given in the order in which they came. */
  read(block: Uint8Array): SpdyHeaders {
    const plain = this.#inflater.inflate(this.#isFirst ? this.#withoutFrame(block) : block)
    this.sizeBytes += plain.length
    return decodedHeaders(plain)
  }

  #withoutFrame(block: Uint8Array): Uint8Array {
    this.#isFirst = false
    const head = Buffer.from(block.buffer, block.byteOffset, block.byteLength)
    const isDeflate = head.length >= 2 && ((head[0] ?? 0) & 0x0f) === 8 && head.readUInt16BE(0) % 31 === 0
    if (!isDeflate) throw new Error('a header block is not compressed as it should be')
    if (((head[1] ?? 0) & 0x20) === 0) return block.subarray(2)
    if (head.length < 6 || head.readUInt32BE(2) !== headerDictionaryId) throw new Error('a header block is made with another dictionary')
    return block.subarray(6)
  }
}

/** Makes blocks that are not smaller for it, but that everybody can decompress: stored parts need no compressor. */
export class HeaderWriter {
  #isFirst = true

  write(headers: SpdyHeaders): Uint8Array {
    const plain = encodedHeaders(headers)
    const parts: Uint8Array[] = []
    if (this.#isFirst) {
      const frame = Buffer.from([0x78, 0xbb, 0, 0, 0, 0])
      frame.writeUInt32BE(headerDictionaryId, 2)
      parts.push(frame)
      this.#isFirst = false
    }
    for (let start = 0; start < plain.length; start += 0xffff) {
      const part = plain.subarray(start, start + 0xffff)
      parts.push(storedHead(part.length), part)
    }
    // Without an empty block at the end, readers written in Go wait for more.
    parts.push(storedHead(0))
    return Buffer.concat(parts)
  }
}

function storedHead(size: number): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt16LE(size, 1)
  head.writeUInt16LE(~size & 0xffff, 3)
  return head
}

function encodedHeaders(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers)
  const parts: Buffer[] = [number32(entries.length)]
  for (const [name, value] of entries) {
    for (const text of [name.toLowerCase(), value]) {
      const bytes = Buffer.from(text)
      parts.push(number32(bytes.length), bytes)
    }
  }
  return Buffer.concat(parts)
}

function decodedHeaders(block: Uint8Array): SpdyHeaders {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength)
  let position = 0
  const number = () => {
    if (position + 4 > bytes.length) throw new Error('a header block breaks off')
    position += 4
    return bytes.readUInt32BE(position - 4)
  }
  const text = () => {
    const size = number()
    if (position + size > bytes.length) throw new Error('a header block breaks off')
    position += size
    return bytes.toString('utf8', position - size, position)
  }
  const headers: Record<string, string> = {}
  for (let left = number(); left > 0; left--) {
    const name = text()
    headers[name.toLowerCase()] = text()
  }
  return headers
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
