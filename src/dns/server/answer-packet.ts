/** From the bytes of a question to the bytes of its answer. */

import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import type { SocketAddress } from '#base/sockets.ts'
import type { DnsMetrics } from '#dns/dns-metrics.ts'
import { type DnsHandler, type DnsRequest, type DnsResponse, dnsResponse } from '#dns/handler.ts'
import type { RequestMeter } from '#dns/server/request-meter.ts'
import { type DnsMessage, type DnsRecord, MalformedMessage } from '#wire/dns/dns-message.ts'
import { isWithin } from '#wire/dns/dns-name.ts'
import { headerBytes, readMessage } from '#wire/dns/read-message.ts'
import { internetClass, rcodes } from '#wire/dns/record-type.ts'
import { largestMessage, writeMessage } from '#wire/dns/write-message.ts'

/** Zones and what answers for them. */
export type ServedBlock = {
  zones: readonly string[]
  handler: DnsHandler
  /** The largest answer by UDP, whatever clients could take. */
  payloadBytes: number
  meter: RequestMeter
}

export type AnswerPacketOptions = { clock: Clock; logger: Logger; metrics: DnsMetrics; blocks(): readonly ServedBlock[] }

const smallestPayload = 512
/** A question has one name; what is larger than this is made to be costly to read. */
const largestQuery = 4096

export type PacketAnswerer = (
  packet: Uint8Array,
  from: SocketAddress,
  protocol: 'udp' | 'tcp',
) => Buffer | undefined | Promise<Buffer | undefined>

/** Undefined for what gets no answer at all: answers to others, and noise. */
export function packetAnswerer({ clock, logger, metrics, blocks }: AnswerPacketOptions): PacketAnswerer {
  const failed = (error: unknown, request: DnsRequest): DnsResponse => {
    if (error instanceof TypeError || error instanceof RangeError) {
      metrics.panics.inc()
      logger.error('failed to answer DNS query; this is a bug', { name: request.asked, error: String(error), stack: error.stack })
    }
    return dnsResponse({ rcode: rcodes.SERVFAIL })
  }

  return (packet, from, protocol) => {
    const query = readQuery(packet)
    if (query === undefined) return undefined
    if ('refusal' in query) return query.refusal
    const [question] = query.questions
    if (query.opcode !== 0) return refusal(query, rcodes.NOTIMP)
    if (question === undefined || query.questions.length !== 1) return refusal(query, rcodes.FORMERR)
    if (query.edns !== undefined && query.edns.version !== 0) return refusal(query, rcodes.BADVERS)
    const name = question.name.toLowerCase()
    const block = blockFor(name, blocks())
    if (block === undefined || question.class !== internetClass) return refusal(query, rcodes.REFUSED)
    const startedMs = clock.monotonic()
    const request: DnsRequest = {
      ...{ name, asked: question.name, type: question.type, class: question.class, protocol, from },
      ...{ isRecursionDesired: query.isRecursionDesired, isDnssecOk: query.edns?.isDnssecOk ?? false },
      ...{ isCheckingDisabled: query.isCheckingDisabled, isAuthenticated: query.isAuthenticated },
    }
    const encoded = (response: DnsResponse): Buffer => {
      const payloadBytes = Math.max(query.edns?.payloadBytes ?? 0, smallestPayload)
      const limit = protocol === 'tcp' ? largestMessage : Math.min(payloadBytes, block.payloadBytes)
      const answer = written(query, response, limit)
      block.meter.count(request, response.rcode, answer.length, payloadBytes, (clock.monotonic() - startedMs) / 1000)
      return answer
    }
    try {
      const response = block.handler(request)
      if (!(response instanceof Promise)) return encoded(response)
      return response.then(encoded).catch((error: unknown) => encoded(failed(error, request)))
    } catch (error) {
      return encoded(failed(error, request))
    }
  }
}

/** The block with the longest zone. */
export function blockFor<B extends { zones: readonly string[] }>(name: string, blocks: readonly B[]): B | undefined {
  let best: B | undefined
  let length = -1
  for (const block of blocks) {
    for (const zone of block.zones) {
      if (zone.length <= length || !isWithin(name, zone)) continue
      best = block
      length = zone.length
    }
  }
  return best
}

function readQuery(packet: Uint8Array): DnsMessage | { refusal: Buffer } | undefined {
  // Answering answers would let two servers talk for ever.
  if (packet.length < headerBytes || ((packet[2] as number) & 0x80) !== 0) return undefined
  try {
    if (packet.length > largestQuery) throw new MalformedMessage('the question is too long')
    return readMessage(packet)
  } catch {
    const header = Buffer.alloc(headerBytes)
    header.set(packet.subarray(0, 2))
    header[2] = ((packet[2] as number) & 0x79) | 0x80
    header[3] = rcodes.FORMERR
    return { refusal: header }
  }
}

function refusal(query: DnsMessage, rcode: number): Buffer {
  return written(query, dnsResponse({ rcode }), smallestPayload)
}

function written(query: DnsMessage, response: DnsResponse, limitBytes: number): Buffer {
  const { edns, questions, id, opcode, isRecursionDesired, isCheckingDisabled } = query
  const message: DnsMessage = {
    ...{ id, opcode, isResponse: true, isAuthoritative: response.isAuthoritative, isTruncated: response.isTruncated, isRecursionDesired },
    ...{ isRecursionAvailable: response.isRecursionAvailable, isAuthenticated: response.isAuthenticated, isCheckingDisabled },
    rcode: response.rcode,
    questions: questions.slice(0, 1),
    // Written at once, and not changed.
    answers: response.answers as DnsRecord[],
    authority: response.authority as DnsRecord[],
    additional: response.additional as DnsRecord[],
    ...defined({
      edns:
        edns === undefined
          ? undefined
          : { version: 0, payloadBytes: Math.max(edns.payloadBytes, smallestPayload), isDnssecOk: edns.isDnssecOk },
    }),
  }
  return writeMessage(message, limitBytes)
}
