/** Names are text that ends in a dot, the root being the dot alone; dots within labels and unprintable bytes are escaped (`\.`, `\032`). */

export type DnsQuestion = { name: string; type: number; class: number }

export type DnsRecordData =
  | { type: 'A'; address: string }
  | { type: 'AAAA'; address: string }
  | { type: 'CNAME' | 'NS' | 'PTR' | 'DNAME'; target: string }
  | { type: 'MX'; preference: number; target: string }
  | { type: 'SRV'; priority: number; weight: number; port: number; target: string }
  | {
      type: 'SOA'
      primary: string
      mailbox: string
      serial: number
      refreshSeconds: number
      retrySeconds: number
      expireSeconds: number
      /** For how long it may be remembered that something does not exist. */
      minimumSeconds: number
    }
  /** Bytes as Latin-1. */
  | { type: 'TXT'; texts: string[] }
  | { type: 'OTHER'; number: number; data: Uint8Array }

export type DnsRecord = { name: string; class: number; ttlSeconds: number } & DnsRecordData

/** The extension of RFC 6891, which travels as a record of its own. */
export type Edns = { version: number; payloadBytes: number; isDnssecOk: boolean }

export type DnsMessage = {
  id: number
  opcode: number
  isResponse: boolean
  isAuthoritative: boolean
  isTruncated: boolean
  isRecursionDesired: boolean
  isRecursionAvailable: boolean
  isAuthenticated: boolean
  isCheckingDisabled: boolean
  /** With the upper bits of EDNS. */
  rcode: number
  questions: DnsQuestion[]
  answers: DnsRecord[]
  authority: DnsRecord[]
  additional: DnsRecord[]
  edns?: Edns
}

/** A packet that says no message, or more than one may. */
export class MalformedMessage extends Error {
  override name = 'MalformedMessage'
}
