import {
  type DnsMessage,
  type DnsQuestion,
  type DnsRecord,
  type DnsRecordData,
  type Edns,
  MalformedMessage,
} from '#wire/dns/dns-message.ts'
import { readName } from '#wire/dns/dns-name.ts'
import { ipv4Text, ipv6Text } from '#wire/dns/ip-bytes.ts'
import { recordTypes } from '#wire/dns/record-type.ts'

export const headerBytes = 12

/** Throws `MalformedMessage` on anything that is not one whole message. Takes time in proportion to the packet's size. */
export function readMessage(packet: Uint8Array): DnsMessage {
  if (packet.length < headerBytes) throw new MalformedMessage('the message is shorter than its header')
  const flags = word(packet, 2)
  const counts = [4, 6, 8, 10].map((at) => word(packet, at))
  let position = headerBytes
  const questions: DnsQuestion[] = []
  for (let left = counts[0] ?? 0; left > 0; left--) {
    const { name, end } = readName(packet, position)
    questions.push({ name, type: word(packet, end), class: word(packet, end + 2) })
    position = end + 4
  }
  const message: DnsMessage = {
    ...{ id: word(packet, 0), opcode: (flags >> 11) & 15, isResponse: (flags & 0x8000) !== 0, isAuthoritative: (flags & 0x0400) !== 0 },
    ...{ isTruncated: (flags & 0x0200) !== 0, isRecursionDesired: (flags & 0x0100) !== 0, isRecursionAvailable: (flags & 0x80) !== 0 },
    ...{ isAuthenticated: (flags & 0x20) !== 0, isCheckingDisabled: (flags & 0x10) !== 0, rcode: flags & 15 },
    ...{ questions, answers: [], authority: [], additional: [] },
  }
  for (const [index, section] of [message.answers, message.authority, message.additional].entries()) {
    for (let left = counts[index + 1] ?? 0; left > 0; left--) position = readRecord(packet, position, section, message)
  }
  return message
}

function readRecord(packet: Uint8Array, start: number, section: DnsRecord[], message: DnsMessage): number {
  const { name, end } = readName(packet, start)
  const type = word(packet, end)
  const recordClass = word(packet, end + 2)
  const ttl = word(packet, end + 4) * 65_536 + word(packet, end + 6)
  const dataStart = end + 10
  const dataEnd = dataStart + word(packet, end + 8)
  if (dataEnd > packet.length) throw new MalformedMessage('a record goes past the end of the message')
  if (type === recordTypes.OPT) {
    if (section !== message.additional || name !== '.' || message.edns !== undefined)
      throw new MalformedMessage('OPT is where it may not be')
    message.edns = ednsOf(recordClass, ttl)
    message.rcode |= Math.floor(ttl / 2 ** 24) << 4
    return dataEnd
  }
  // A lifetime with the highest bit set counts as none (RFC 2181).
  const ttlSeconds = ttl >= 2 ** 31 ? 0 : ttl
  section.push({ name, class: recordClass, ttlSeconds, ...readData(packet, type, dataStart, dataEnd) })
  return dataEnd
}

function ednsOf(payloadBytes: number, ttl: number): Edns {
  return { version: Math.floor(ttl / 65_536) & 0xff, payloadBytes, isDnssecOk: (ttl & 0x8000) !== 0 }
}

function readData(packet: Uint8Array, type: number, start: number, end: number): DnsRecordData {
  const sized = (size: number) => {
    if (end - start !== size) throw new MalformedMessage('the data of a record has another length than its type')
  }
  const nameAt = (at: number): string => {
    const { name, end: nameEnd } = readName(packet, at)
    if (nameEnd !== end) throw new MalformedMessage('the data of a record has another length than its type')
    return name
  }
  switch (type) {
    case recordTypes.A:
      sized(4)
      return { type: 'A', address: ipv4Text(packet, start) }
    case recordTypes.AAAA:
      sized(16)
      return { type: 'AAAA', address: ipv6Text(Array.from({ length: 8 }, (_, index) => word(packet, start + 2 * index))) }
    case recordTypes.CNAME:
      return { type: 'CNAME', target: nameAt(start) }
    case recordTypes.NS:
      return { type: 'NS', target: nameAt(start) }
    case recordTypes.PTR:
      return { type: 'PTR', target: nameAt(start) }
    case recordTypes.DNAME:
      return { type: 'DNAME', target: nameAt(start) }
    case recordTypes.MX:
      return { type: 'MX', preference: word(packet, start), target: nameAt(start + 2) }
    case recordTypes.SRV: {
      const [priority, weight, port] = [word(packet, start), word(packet, start + 2), word(packet, start + 4)]
      return { type: 'SRV', priority, weight, port, target: nameAt(start + 6) }
    }
    case recordTypes.SOA:
      return readAuthority(packet, start, end)
    case recordTypes.TXT:
      return { type: 'TXT', texts: readTexts(packet, start, end) }
    default:
      // A copy: packets are read into memory that is used again.
      return { type: 'OTHER', number: type, data: Uint8Array.from(packet.subarray(start, end)) }
  }
}

function readAuthority(packet: Uint8Array, start: number, end: number): DnsRecordData {
  const primary = readName(packet, start)
  const mailbox = readName(packet, primary.end)
  if (mailbox.end + 20 !== end) throw new MalformedMessage('the data of a record has another length than its type')
  const long = (index: number) => word(packet, mailbox.end + 4 * index) * 65_536 + word(packet, mailbox.end + 4 * index + 2)
  return {
    ...{ type: 'SOA', primary: primary.name, mailbox: mailbox.name, serial: long(0), refreshSeconds: long(1), retrySeconds: long(2) },
    ...{ expireSeconds: long(3), minimumSeconds: long(4) },
  }
}

function readTexts(packet: Uint8Array, start: number, end: number): string[] {
  const texts: string[] = []
  for (let at = start; at < end; ) {
    const textEnd = at + 1 + (packet[at] ?? 0)
    if (textEnd > end) throw new MalformedMessage('a text goes past the end of its record')
    texts.push(String.fromCharCode(...packet.subarray(at + 1, textEnd)))
    at = textEnd
  }
  return texts
}

function word(packet: Uint8Array, at: number): number {
  if (at + 2 > packet.length) throw new MalformedMessage('the message ends too early')
  return ((packet[at] as number) << 8) | (packet[at + 1] as number)
}
