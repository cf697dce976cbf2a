/** A record as zone files write it: `NAME [TTL] [CLASS] TYPE DATA…`. */
import type { DnsRecord, DnsRecordData } from '#wire/dns/dns-message.ts'
import { fullName } from '#wire/dns/dns-name.ts'
import { canonicalIp } from '#wire/dns/ip-bytes.ts'
import { internetClass } from '#wire/dns/record-type.ts'

/** As in zone files that do not say one. */
const usualTtlSeconds = 3600

/** Throws where it is none. */
export function parseRecord(text: string): DnsRecord {
  const words = [...text.matchAll(/"((?:[^"\\]|\\.)*)"|\S+/g)].map(([whole, quoted]) => quoted ?? whole)
  const [name = '', ...rest] = words
  let ttlSeconds = usualTtlSeconds
  for (;;) {
    const [first = ''] = rest
    if (/^\d+$/.test(first)) ttlSeconds = Number(first)
    else if (first.toUpperCase() !== 'IN') break
    rest.shift()
  }
  const [type = '', ...data] = rest
  const parsed = dataOf(type.toUpperCase(), data)
  if (name === '' || parsed === undefined) throw new Error(`${JSON.stringify(text)} is not a valid record`)
  return { name: fullName(name), class: internetClass, ttlSeconds, ...parsed }
}

const isAddress = (text: string, six: boolean): boolean => canonicalIp(text) !== undefined && text.includes(':') === six

function dataOf(type: string, words: readonly string[]): DnsRecordData | undefined {
  const [first = '', second = '', third = '', fourth = ''] = words
  const numbers = words.map(Number)
  const areNumbers = (...indexes: number[]) => indexes.every((index) => /^\d+$/.test(words[index] ?? ''))
  switch (type) {
    case 'A':
      return words.length === 1 && isAddress(first, false) ? { type, address: first } : undefined
    case 'AAAA':
      return words.length === 1 && isAddress(first, true) ? { type, address: first } : undefined
    case 'CNAME':
    case 'NS':
    case 'PTR':
    case 'DNAME':
      return words.length === 1 ? { type, target: fullName(first) } : undefined
    case 'MX':
      return words.length === 2 && areNumbers(0) ? { type, preference: Number(first), target: fullName(second) } : undefined
    case 'SRV':
      return words.length === 4 && areNumbers(0, 1, 2)
        ? { type, priority: Number(first), weight: Number(second), port: Number(third), target: fullName(fourth) }
        : undefined
    case 'TXT':
      return words.length > 0 ? { type, texts: [...words] } : undefined
    case 'SOA': {
      if (words.length !== 7 || !areNumbers(2, 3, 4, 5, 6)) return undefined
      const [, , serial = 0, refreshSeconds = 0, retrySeconds = 0, expireSeconds = 0, minimumSeconds = 0] = numbers
      return {
        ...{ type, primary: fullName(first), mailbox: fullName(second), serial },
        ...{ refreshSeconds, retrySeconds, expireSeconds, minimumSeconds },
      }
    }
    default:
      return undefined
  }
}
