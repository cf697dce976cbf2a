import { FollowedFiles } from '#base/followed-files.ts'
import type { Directive } from '#dns/corefile/parse-corefile.ts'
import { zoneName } from '#dns/corefile/zone-address.ts'
import { type DnsRequest, type DnsResponse, dnsResponse } from '#dns/handler.ts'
import { type DnsPlugin, wholeNumberAt, wrongOption } from '#dns/plugin.ts'
import { addressOfReverseName } from '#dns/zone/reverse-name.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'
import { fullName, isWithin } from '#wire/dns/dns-name.ts'
import { canonicalIp } from '#wire/dns/ip-bytes.ts'
import { internetClass, rcodes, recordTypes } from '#wire/dns/record-type.ts'

const usualFile = '/etc/hosts'

type HostsTable = { byName: Map<string, Set<string>>; byAddress: Map<string, Set<string>> }

/** Names from a file in the form of /etc/hosts, and from lines in the block. */
export const hosts: DnsPlugin = {
  name: 'hosts',
  async setup([directive], { files, logger, metrics, zones: blockZones }) {
    const { args, block, line } = directive
    const [path = usualFile, ...zoneArgs] = args
    const zones = zoneArgs.length === 0 ? blockZones : zoneArgs.map((zone) => zoneName(zone, line))
    const settings = readOptions(block, zones)
    let table: HostsTable = { byName: new Map(), byAddress: new Map() }
    const read = async () => {
      const next: HostsTable = { byName: new Map(), byAddress: new Map() }
      for (const text of [(await files.readTextIfPresent(path)) ?? '', ...settings.lines]) addHosts(text, next)
      table = next
      metrics.hostsEntries.set(next.byName.size)
    }
    const changes = FollowedFiles.at([path], files)
    await read()
    changes.readAgain(read, (error) => logger.warn('failed to reload hosts file', { path, error: String(error) }))
    return {
      stop: () => changes[Symbol.dispose](),
      handle: (next) => (request) => {
        if (!zones.some((zone) => isWithin(request.name, zone))) return next(request)
        const answers = answersFor(request, table, settings)
        const isKnown = answers.length > 0 || table.byName.has(request.name)
        if (isKnown) return dnsResponse({ isAuthoritative: true, answers })
        if (settings.through === undefined) return refusal(request)
        return settings.through.some((zone) => isWithin(request.name, zone)) ? next(request) : refusal(request)
      },
    }
  },
}

type HostsOptions = { lines: string[]; ttlSeconds: number; hasReverse: boolean; through: readonly string[] | undefined }

function readOptions(block: readonly Directive[], zones: readonly string[]): HostsOptions {
  const settings: HostsOptions = { lines: [], ttlSeconds: 3600, hasReverse: true, through: undefined }
  for (const option of block) {
    if (canonicalIp(option.name) !== undefined) settings.lines.push([option.name, ...option.args].join(' '))
    else if (option.name === 'ttl') settings.ttlSeconds = wholeNumberAt(option, 0)
    else if (option.name === 'no_reverse') settings.hasReverse = false
    else if (option.name === 'fallthrough')
      settings.through = option.args.length === 0 ? zones : option.args.map((zone) => zoneName(zone, option.line))
    // The file is watched, not looked at from time to time.
    else if (option.name !== 'reload') throw wrongOption('hosts', option)
  }
  return settings
}

/** There is no zone whose start of authority could go with a plain no: as CoreDNS, the client is told that something is wrong. */
const refusal = (_request: DnsRequest): DnsResponse => dnsResponse({ rcode: rcodes.SERVFAIL })

function addHosts(text: string, { byName, byAddress }: HostsTable): void {
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const ip = canonicalIp(address.split('%')[0] ?? '')
    if (ip === undefined) continue
    for (const name of names.map(fullName)) {
      byName.set(name, (byName.get(name) ?? new Set()).add(ip))
      byAddress.set(ip, (byAddress.get(ip) ?? new Set()).add(name))
    }
  }
}

function answersFor(request: DnsRequest, { byName, byAddress }: HostsTable, { ttlSeconds, hasReverse }: HostsOptions): DnsRecord[] {
  const common = { name: request.asked, class: internetClass, ttlSeconds }
  if (request.type === recordTypes.PTR && hasReverse) {
    const ip = addressOfReverseName(request.name)
    return [...(byAddress.get(ip ?? '') ?? [])].map((target) => ({ ...common, type: 'PTR' as const, target }))
  }
  const ips = [...(byName.get(request.name) ?? [])]
  if (request.type === recordTypes.A) {
    return ips.filter((ip) => !ip.includes(':')).map((address) => ({ ...common, type: 'A' as const, address }))
  }
  if (request.type !== recordTypes.AAAA) return []
  return ips.filter((ip) => ip.includes(':')).map((address) => ({ ...common, type: 'AAAA' as const, address }))
}
