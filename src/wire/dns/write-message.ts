import { type DnsMessage, type DnsRecord, MalformedMessage } from '#wire/dns/dns-message.ts'
import { labelsOf, rawLabel } from '#wire/dns/dns-name.ts'
import { ipv4Bytes, ipv6Groups } from '#wire/dns/ip-bytes.ts'
import { headerBytes } from '#wire/dns/read-message.ts'
import { recordTypes } from '#wire/dns/record-type.ts'

export const largestMessage = 65_535
const ednsBytes = 11
const farthestPointer = 0x3fff

/** Messages are put together here; whoever asked gets a copy of the right size. */
const scratch = Buffer.alloc(largestMessage + 1)

class OutOfRoom extends Error {}

/**
 * The message in no more than `limitBytes`: records that find no room are left out, the last ones first, and the message says that it
 * is truncated. Names are compressed where they may be.
 */
export function writeMessage(message: DnsMessage, limitBytes = largestMessage): Buffer {
  const { edns } = message
  const writer = new Writer(Math.min(limitBytes, largestMessage) - (edns === undefined ? 0 : ednsBytes))
  for (const { name, type, class: questionClass } of message.questions) {
    writer.name(name)
    writer.word(type)
    writer.word(questionClass)
  }
  const counts = [0, 0, 0]
  let isTruncated = message.isTruncated
  sections: for (const [index, section] of [message.answers, message.authority, message.additional].entries()) {
    for (const record of section) {
      if (!writer.record(record)) {
        isTruncated = true
        break sections
      }
      counts[index] = (counts[index] as number) + 1
    }
  }
  if (edns !== undefined) {
    writer.limit += ednsBytes
    writer.byte(0)
    writer.word(recordTypes.OPT)
    writer.word(edns.payloadBytes)
    writer.word(((message.rcode >> 4) << 8) | edns.version)
    writer.word(edns.isDnssecOk ? 0x8000 : 0)
    writer.word(0)
    counts[2] = (counts[2] as number) + 1
  }
  const size = writer.position
  writer.position = 0
  writer.word(message.id)
  writer.word(flagsOf(message, isTruncated))
  writer.word(message.questions.length)
  for (const count of counts) writer.word(count)
  return Buffer.from(scratch.subarray(0, size))
}

function flagsOf(message: DnsMessage, isTruncated: boolean): number {
  let flags = ((message.opcode & 15) << 11) | (message.rcode & 15)
  if (message.isResponse) flags |= 0x8000
  if (message.isAuthoritative) flags |= 0x0400
  if (isTruncated) flags |= 0x0200
  if (message.isRecursionDesired) flags |= 0x0100
  if (message.isRecursionAvailable) flags |= 0x80
  if (message.isAuthenticated) flags |= 0x20
  if (message.isCheckingDisabled) flags |= 0x10
  return flags
}

class Writer {
  position = headerBytes
  limit: number
  /** Where a name, or the end of one, stands already. */
  readonly #places = new Map<string, number>()

  constructor(limit: number) {
    this.limit = limit
  }

  byte(value: number): void {
    if (this.position + 1 > this.limit) throw new OutOfRoom()
    scratch[this.position++] = value
  }

  word(value: number): void {
    if (this.position + 2 > this.limit) throw new OutOfRoom()
    scratch[this.position++] = value >> 8
    scratch[this.position++] = value & 0xff
  }

  long(value: number): void {
    this.word(Math.floor(value / 65_536) & 0xffff)
    this.word(value & 0xffff)
  }

  bytes(data: Uint8Array): void {
    if (this.position + data.length > this.limit) throw new OutOfRoom()
    scratch.set(data, this.position)
    this.position += data.length
  }

  /** Some types may hold no pointers, which older readers would not find. */
  name(name: string, mayPoint = true): void {
    let rest = name
    let size = 1
    while (rest !== '.' && rest !== '') {
      const known = mayPoint ? this.#places.get(rest) : undefined
      if (known !== undefined) {
        this.word(0xc000 | known)
        return
      }
      if (this.position <= farthestPointer) this.#places.set(rest, this.position)
      const end = rest.includes('\\') ? (labelsOf(rest)[0] ?? '').length : rest.indexOf('.')
      const label = rawLabel(end < 0 ? rest : rest.slice(0, end))
      size += label.length + 1
      if (size > 255) throw new MalformedMessage(`${name} is no name: 255 bytes are allowed`)
      if (this.position + label.length + 1 > this.limit) throw new OutOfRoom()
      scratch[this.position++] = label.length
      for (let index = 0; index < label.length; index++) scratch[this.position++] = label.charCodeAt(index)
      rest = end < 0 ? '' : rest.slice(end + 1)
    }
    this.byte(0)
  }

  /** False where it finds no room; nothing of it is written then. */
  record(record: DnsRecord): boolean {
    const start = this.position
    try {
      this.name(record.name)
      this.word(record.type === 'OTHER' ? record.number : recordTypes[record.type])
      this.word(record.class)
      this.long(record.ttlSeconds)
      this.word(0)
      const dataStart = this.position
      this.#data(record)
      const size = this.position - dataStart
      scratch[dataStart - 2] = size >> 8
      scratch[dataStart - 1] = size & 0xff
      return true
    } catch (error) {
      if (!(error instanceof OutOfRoom)) throw error
      this.position = start
      // Nobody may point at what was not written.
      for (const [name, place] of this.#places) if (place >= start) this.#places.delete(name)
      return false
    }
  }

  #data(record: DnsRecord): void {
    switch (record.type) {
      case 'A': {
        const value = ipv4Bytes(record.address)
        if (value === undefined) throw new MalformedMessage(`${record.address} is no IPv4 address`)
        this.long(value)
        break
      }
      case 'AAAA': {
        const groups = ipv6Groups(record.address)
        if (groups === undefined) throw new MalformedMessage(`${record.address} is no IPv6 address`)
        for (const group of groups) this.word(group)
        break
      }
      case 'CNAME':
      case 'NS':
      case 'PTR':
        this.name(record.target)
        break
      case 'DNAME':
        this.name(record.target, false)
        break
      case 'MX':
        this.word(record.preference)
        this.name(record.target)
        break
      case 'SRV':
        this.word(record.priority)
        this.word(record.weight)
        this.word(record.port)
        this.name(record.target, false)
        break
      case 'SOA':
        this.name(record.primary)
        this.name(record.mailbox)
        for (const value of [record.serial, record.refreshSeconds, record.retrySeconds, record.expireSeconds, record.minimumSeconds])
          this.long(value)
        break
      case 'TXT':
        for (const text of record.texts) {
          if (text.length > 255) throw new MalformedMessage('a text of a TXT record is longer than 255 bytes')
          this.byte(text.length)
          this.bytes(Buffer.from(text, 'latin1'))
        }
        break
      case 'OTHER':
        this.bytes(record.data)
        break
    }
  }
}
