/** What a question goes through: each plugin answers, or asks the next. */
import type { SocketAddress } from '#base/sockets.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'
import { internetClass, rcodes } from '#wire/dns/record-type.ts'

export type DnsRequest = {
  /** In small letters, with a dot at the end. */
  readonly name: string
  /** As the client wrote it: answers repeat it so. */
  readonly asked: string
  readonly type: number
  readonly class: number
  readonly isRecursionDesired: boolean
  readonly isDnssecOk: boolean
  readonly isCheckingDisabled: boolean
  readonly isAuthenticated: boolean
  readonly protocol: 'udp' | 'tcp'
  readonly from: SocketAddress
}

export type DnsResponse = {
  readonly rcode: number
  readonly isAuthoritative: boolean
  readonly isRecursionAvailable: boolean
  readonly isAuthenticated: boolean
  /** There is more, which did not fit on the way here. */
  readonly isTruncated: boolean
  readonly answers: readonly DnsRecord[]
  readonly authority: readonly DnsRecord[]
  readonly additional: readonly DnsRecord[]
}

/** Throws where no answer can be had: the client is told SERVFAIL. Answers at once where nothing has to be waited for. */
export type DnsHandler = (request: DnsRequest) => DnsResponse | Promise<DnsResponse>

const empty: DnsResponse = {
  ...{ rcode: rcodes.NOERROR, isAuthoritative: false, isRecursionAvailable: false, isAuthenticated: false, isTruncated: false },
  ...{ answers: [], authority: [], additional: [] },
}

export function dnsResponse(parts: Partial<DnsResponse>): DnsResponse {
  return { ...empty, ...parts }
}

/** A question that the server asks itself. */
export function ownRequest(name: string, type: number, like?: DnsRequest): DnsRequest {
  return {
    ...{ isRecursionDesired: true, isDnssecOk: false, isCheckingDisabled: false, isAuthenticated: false },
    ...{ protocol: 'udp', from: { host: '127.0.0.1', port: 0 }, class: internetClass },
    ...like,
    ...{ name: name.toLowerCase(), asked: name, type },
  }
}
