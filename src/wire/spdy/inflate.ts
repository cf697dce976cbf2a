/** Decompression of one stream in parts, each of which ends where the sender flushed; at once, since the order of headers matters. */

const windowBytes = 32 * 1024
const lengthBases = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258]
const lengthExtras = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
const distanceBases = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385,
  24577,
]
const distanceExtras = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13]
/** The order in which a block tells the lengths of the codes that tell the lengths of its codes. */
const codeLengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

class InflateError extends Error {
  override name = 'InflateError'
}

/** How many codes there are of each length, and their symbols in the order of the codes. */
type Huffman = { counts: Uint16Array; symbols: Uint16Array }

function huffman(lengths: ArrayLike<number>): Huffman {
  const counts = new Uint16Array(16)
  for (let symbol = 0; symbol < lengths.length; symbol++) counts[lengths[symbol] ?? 0] = (counts[lengths[symbol] ?? 0] ?? 0) + 1
  const offsets = new Uint16Array(16)
  for (let length = 1; length < 15; length++) offsets[length + 1] = (offsets[length] ?? 0) + (counts[length] ?? 0)
  const symbols = new Uint16Array(lengths.length)
  for (let symbol = 0; symbol < lengths.length; symbol++) {
    const length = lengths[symbol] ?? 0
    if (length === 0) continue
    const offset = offsets[length] ?? 0
    symbols[offset] = symbol
    offsets[length] = offset + 1
  }
  return { counts, symbols }
}

const fixedLiterals = huffman(Array.from({ length: 288 }, (_, symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8)))
const fixedDistances = huffman(new Array<number>(30).fill(5))

class Bits {
  readonly #bytes: Uint8Array
  #position = 0
  #held = 0
  #heldBits = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }
  get isAtEnd(): boolean {
    return this.#position >= this.#bytes.length
  }
  take(count: number): number {
    while (this.#heldBits < count) {
      const next = this.#bytes[this.#position++]
      if (next === undefined) throw new InflateError('the compressed part breaks off')
      this.#held |= next << this.#heldBits
      this.#heldBits += 8
    }
    const value = this.#held & ((1 << count) - 1)
    this.#held >>>= count
    this.#heldBits -= count
    return value
  }
  symbol({ counts, symbols }: Huffman): number {
    let [code, first, index] = [0, 0, 0]
    for (let length = 1; length < 16; length++) {
      code |= this.take(1)
      const count = counts[length] ?? 0
      if (code - first < count) return symbols[index + code - first] ?? 0
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    throw new InflateError('a code that stands for nothing')
  }
  /** The rest of the byte is of no meaning; whole bytes follow. */
  bytes(size: number): Uint8Array {
    this.#held = 0
    this.#heldBits = 0
    const taken = this.#bytes.subarray(this.#position, this.#position + size)
    if (taken.length < size) throw new InflateError('the compressed part breaks off')
    this.#position += size
    return taken
  }
}

/** The format of RFC 1951, without the frame of RFC 1950. */
export class Inflater {
  readonly #limitBytes: number
  /** What earlier parts came to: later ones refer to it. */
  #window: Uint8Array
  #output: Uint8Array = new Uint8Array(0)
  #size = 0

  /** No part may come to more than `limitBytes`. */
  constructor(dictionary: Uint8Array, limitBytes: number) {
    this.#window = dictionary
    this.#limitBytes = limitBytes
  }

  inflate(part: Uint8Array): Uint8Array {
    const start = this.#window.length
    this.#output = new Uint8Array(start + 4096)
    this.#output.set(this.#window)
    this.#size = start
    const bits = new Bits(part)
    while (!bits.isAtEnd) this.#block(bits, start)
    const all = this.#output.subarray(0, this.#size)
    this.#window = all.slice(Math.max(0, all.length - windowBytes))
    return all.subarray(start)
  }

  #block(bits: Bits, start: number): void {
    bits.take(1)
    const type = bits.take(2)
    if (type === 0) this.#stored(bits, start)
    else if (type === 1) this.#compressed(bits, fixedLiterals, fixedDistances, start)
    else if (type === 2) {
      const { literals, distances } = ownCodes(bits)
      this.#compressed(bits, literals, distances, start)
    } else throw new InflateError('a block of an unknown kind')
  }

  #stored(bits: Bits, start: number): void {
    const head = bits.bytes(4)
    const size = (head[0] ?? 0) | ((head[1] ?? 0) << 8)
    if ((size ^ ((head[2] ?? 0) | ((head[3] ?? 0) << 8))) !== 0xffff) throw new InflateError('a stored block contradicts itself')
    this.#room(size, start)
    this.#output.set(bits.bytes(size), this.#size)
    this.#size += size
  }

  #compressed(bits: Bits, literals: Huffman, distances: Huffman, start: number): void {
    for (;;) {
      const symbol = bits.symbol(literals)
      if (symbol === 256) return
      if (symbol < 256) {
        this.#room(1, start)
        this.#output[this.#size++] = symbol
        continue
      }
      const length = (lengthBases[symbol - 257] ?? 0) + bits.take(lengthExtras[symbol - 257] ?? 0)
      const code = bits.symbol(distances)
      const distance = (distanceBases[code] ?? 0) + bits.take(distanceExtras[code] ?? 0)
      if (length === 0 || distance === 0 || distance > this.#size) throw new InflateError('a reference to what never was')
      this.#room(length, start)
      for (let index = 0; index < length; index++, this.#size++) this.#output[this.#size] = this.#output[this.#size - distance] ?? 0
    }
  }

  #room(size: number, start: number): void {
    const needed = this.#size + size
    if (needed - start > this.#limitBytes) throw new InflateError(`a part comes to more than ${this.#limitBytes} bytes`)
    if (needed <= this.#output.length) return
    const larger = new Uint8Array(Math.max(needed, this.#output.length * 2))
    larger.set(this.#output)
    this.#output = larger
  }
}

function ownCodes(bits: Bits): { literals: Huffman; distances: Huffman } {
  const literalCount = bits.take(5) + 257
  const distanceCount = bits.take(5) + 1
  const lengthCount = bits.take(4) + 4
  const lengthLengths = new Uint8Array(19)
  for (const symbol of codeLengthOrder.slice(0, lengthCount)) lengthLengths[symbol] = bits.take(3)
  const code = huffman(lengthLengths)
  const lengths: number[] = []
  while (lengths.length < literalCount + distanceCount) {
    const symbol = bits.symbol(code)
    if (symbol < 16) lengths.push(symbol)
    else {
      const repeated = symbol === 16 ? lengths.at(-1) : 0
      if (repeated === undefined) throw new InflateError('nothing to repeat')
      const count = symbol === 16 ? 3 + bits.take(2) : symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7)
      for (let index = 0; index < count; index++) lengths.push(repeated)
    }
  }
  if (lengths.length > literalCount + distanceCount) throw new InflateError('more codes than announced')
  return { literals: huffman(lengths.slice(0, literalCount)), distances: huffman(lengths.slice(literalCount)) }
}
