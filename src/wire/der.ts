/** ASN.1 values in their Distinguished Encoding Rules: what certificates, certificate requests and keys are made of. */

/** Identifier octets of the types in use. Bit 0x20 marks a value made of other values. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  universalString: 0x1c,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const

const constructed = 0x20
const contextSpecific = 0x80

export class DerError extends Error {
  override name = 'DerError'
}

/** One value as it lies in the input. `bytes` is all of it, `content` what follows identifier and length; both are views. */
export type DerValue = { tag: number; bytes: Uint8Array; content: Uint8Array }

/** Reads values one after another and says no to anything that is not the one shortest form. */
export class DerReader {
  readonly #bytes: Uint8Array
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get atEnd(): boolean {
    return this.#position >= this.#bytes.length
  }

  /** The identifier octet of the next value; undefined at the end. */
  peekTag(): number | undefined {
    return this.#bytes[this.#position]
  }

  /** The next value, which must be a `tag` if one is asked for. */
  read(tag?: number): DerValue {
    const start = this.#position
    const found = this.#octet()
    if ((found & 0x1f) === 0x1f) throw new DerError('tags above 30 are not supported')
    if (tag !== undefined && found !== tag) throw new DerError(`expected tag ${hex(tag)}, found ${hex(found)}`)
    const length = this.#length()
    const end = this.#position + length
    if (end > this.#bytes.length) throw new DerError('data truncated')
    const content = this.#bytes.subarray(this.#position, end)
    this.#position = end
    return { tag: found, bytes: this.#bytes.subarray(start, end), content }
  }

  /** The next value if it is a `tag`. */
  readOptional(tag: number): DerValue | undefined {
    return this.peekTag() === tag ? this.read() : undefined
  }

  /** A reader over the values inside the next value. */
  enter(tag: number = tags.sequence): DerReader {
    return new DerReader(this.read(tag).content)
  }

  expectEnd(): void {
    if (!this.atEnd) throw new DerError('trailing data')
  }

  #octet(): number {
    const octet = this.#bytes[this.#position]
    if (octet === undefined) throw new DerError('data truncated')
    this.#position++
    return octet
  }

  #length(): number {
    const first = this.#octet()
    if (first < 0x80) return first
    const count = first & 0x7f
    if (count === 0) throw new DerError('indefinite length found (not DER)')
    if (count > 4) throw new DerError('length too large')
    let length = 0
    for (let index = 0; index < count; index++) {
      const octet = this.#octet()
      if (index === 0 && octet === 0) throw new DerError('superfluous leading zeros in length')
      length = length * 256 + octet
    }
    if (length < 0x80) throw new DerError('non-minimal length')
    return length
  }
}

/** The only value in `bytes`. */
export function readDer(bytes: Uint8Array, tag?: number): DerValue {
  const reader = new DerReader(bytes)
  const value = reader.read(tag)
  reader.expectEnd()
  return value
}

/** The values inside a sequence, a set or an explicitly tagged value. */
export function childrenOf(value: DerValue): DerValue[] {
  const reader = new DerReader(value.content)
  const children: DerValue[] = []
  while (!reader.atEnd) children.push(reader.read())
  return children
}

export function readBoolean({ content }: DerValue): boolean {
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw new DerError('invalid boolean')
  return content[0] === 0xff
}

export function readInteger({ content }: DerValue): bigint {
  const [first, second] = content
  if (first === undefined) throw new DerError('empty integer')
  if (second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))) {
    throw new DerError('integer not minimally-encoded')
  }
  return BigInt.asIntN(content.length * 8, BigInt(`0x${Buffer.from(content).toString('hex')}`))
}

/** Dotted decimal. */
export function readObjectIdentifier({ content }: DerValue): string {
  const arcs: number[] = []
  let arc = 0
  let pending = false
  for (const octet of content) {
    if (!pending && octet === 0x80) throw new DerError('object identifier not minimally-encoded')
    arc = arc * 128 + (octet & 0x7f)
    pending = octet >= 0x80
    if (pending) continue
    if (arcs.length === 0) {
      const root = Math.min(Math.floor(arc / 40), 2)
      arcs.push(root, arc - root * 40)
    } else {
      arcs.push(arc)
    }
    arc = 0
  }
  if (pending || arcs.length === 0) throw new DerError('truncated object identifier')
  return arcs.join('.')
}

export function readBitString({ content }: DerValue): { bytes: Uint8Array; unusedBits: number } {
  const unusedBits = content[0]
  if (unusedBits === undefined || unusedBits > 7 || (unusedBits > 0 && content.length === 1)) {
    throw new DerError('invalid padding bits in bit string')
  }
  return { bytes: content.subarray(1), unusedBits }
}

/** Text of any of the string types. */
export function readString({ tag, content }: DerValue): string {
  switch (tag) {
    case tags.utf8String:
      return new TextDecoder('utf-8', { fatal: true }).decode(content)
    case tags.printableString:
    case tags.ia5String:
    case tags.numericString:
    case tags.teletexString:
      return Buffer.from(content).toString('latin1')
    case tags.bmpString:
      return Buffer.from(content).swap16().toString('utf16le')
    default:
      throw new DerError(`tag ${hex(tag)} is not a string`)
  }
}

/** Milliseconds since the epoch. */
export function readTime({ tag, content }: DerValue): number {
  const text = Buffer.from(content).toString('latin1')
  const isShort = tag === tags.utcTime
  const match = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text)
  if (!match || (!isShort && tag !== tags.generalizedTime) || match[1]?.length !== (isShort ? 2 : 4)) throw new DerError('invalid time')
  const [, years = '', month, day, hour, minute, second] = match
  // RFC 5280: two digits from 50 on are of the last century.
  const year = isShort ? `${Number(years) >= 50 ? '19' : '20'}${years}` : years
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (Number.isNaN(ms)) throw new DerError('invalid time')
  return ms
}

/** Any value: the identifier octet and what goes inside. */
export const encode = (tag: number, ...parts: readonly Uint8Array[]): Uint8Array => encodeAll(tag, parts)

function encodeAll(tag: number, parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const header = [tag, ...lengthOctets(length)]
  const bytes = new Uint8Array(header.length + length)
  bytes.set(header)
  let position = header.length
  for (const part of parts) {
    bytes.set(part, position)
    position += part.length
  }
  return bytes
}

export const sequence = (...parts: readonly Uint8Array[]): Uint8Array => encodeAll(tags.sequence, parts)

/** Of as many as a request asks for. */
export const sequenceOf = (parts: readonly Uint8Array[]): Uint8Array => encodeAll(tags.sequence, parts)

/** A SET OF: DER wants its members in the order of their bytes. */
export function setOf(parts: readonly Uint8Array[]): Uint8Array {
  return encodeAll(tags.set, parts.toSorted(Buffer.compare))
}

/** `[n]` around whole values. */
export const explicit = (n: number, ...parts: readonly Uint8Array[]): Uint8Array => encodeAll(contextSpecific | constructed | n, parts)

/** `[n]` in place of the value's own tag, around bare content. */
export const implicit = (n: number, content: Uint8Array): Uint8Array => encode(contextSpecific | n, content)

/** The tags that `explicit` and `implicit` write, for readers. */
export const explicitTag = (n: number): number => contextSpecific | constructed | n
export const implicitTag = (n: number): number => contextSpecific | n

export const boolean = (value: boolean): Uint8Array => encode(tags.boolean, Uint8Array.of(value ? 0xff : 0))

export const nothing = (): Uint8Array => encode(tags.null)

/** Bytes are taken as an unsigned big-endian number. */
export function integer(value: number | bigint | Uint8Array): Uint8Array {
  return encode(tags.integer, value instanceof Uint8Array ? unsignedOctets(value) : signedOctets(BigInt(value)))
}

export function objectIdentifier(dotted: string): Uint8Array {
  const [root = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const octets: number[] = []
  for (const arc of [root * 40 + second, ...rest]) {
    const digits = [arc & 0x7f]
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) digits.unshift((left & 0x7f) | 0x80)
    octets.push(...digits)
  }
  return encode(tags.objectIdentifier, Uint8Array.from(octets))
}

export const octetString = (bytes: Uint8Array): Uint8Array => encode(tags.octetString, bytes)

export const bitString = (bytes: Uint8Array, unusedBits = 0): Uint8Array => encode(tags.bitString, Uint8Array.of(unusedBits), bytes)

/** A BIT STRING of named bits, as key usage has: trailing zeros are left out. */
export function namedBits(bits: readonly number[]): Uint8Array {
  const highest = Math.max(-1, ...bits)
  const bytes = new Uint8Array(Math.ceil((highest + 1) / 8))
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7))
  return bitString(bytes, highest < 0 ? 0 : 7 - (highest & 7))
}

export const utf8String = (text: string): Uint8Array => encode(tags.utf8String, Buffer.from(text, 'utf8'))
export const printableString = (text: string): Uint8Array => encode(tags.printableString, Buffer.from(text, 'latin1'))
export const ia5String = (text: string): Uint8Array => encode(tags.ia5String, Buffer.from(text, 'latin1'))

/** A PrintableString where the characters allow it, as Go writes names. */
export const directoryString = (text: string): Uint8Array =>
  /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text) ? printableString(text) : utf8String(text)

/** UTCTime through 2049 and GeneralizedTime from then on, as RFC 5280 has it. */
export function time(ms: number): Uint8Array {
  const digits = `${new Date(ms).toISOString().slice(0, 19).replace(/[-T:]/g, '')}Z`
  const year = Number(digits.slice(0, 4))
  return year >= 1950 && year < 2050
    ? encode(tags.utcTime, Buffer.from(digits.slice(2), 'latin1'))
    : encode(tags.generalizedTime, Buffer.from(digits, 'latin1'))
}

function lengthOctets(length: number): number[] {
  if (length < 0x80) return [length]
  const octets: number[] = []
  for (let left = length; left > 0; left = Math.floor(left / 256)) octets.unshift(left % 256)
  return [0x80 | octets.length, ...octets]
}

function unsignedOctets(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const trimmed = bytes.subarray(start)
  const first = trimmed[0]
  if (first === undefined) return Uint8Array.of(0)
  return first < 0x80 ? trimmed : Uint8Array.of(0, ...trimmed)
}

function signedOctets(value: bigint): Uint8Array {
  let size = 1
  while (BigInt.asIntN(size * 8, value) !== value) size++
  return Buffer.from(
    BigInt.asUintN(size * 8, value)
      .toString(16)
      .padStart(size * 2, '0'),
    'hex',
  )
}

function hex(tag: number): string {
  return `0x${tag.toString(16).padStart(2, '0')}`
}
