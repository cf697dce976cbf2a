import type { Directive } from '#dns/corefile/parse-corefile.ts'
import { zoneName } from '#dns/corefile/zone-address.ts'
import { type DnsHandler, type DnsRequest, type DnsResponse, dnsResponse } from '#dns/handler.ts'
import type { DnsPlugin, PluginContext } from '#dns/plugin.ts'
import type { DnsRecord } from '#wire/dns/dns-message.ts'
import { fullName, isWithin, zoneOf } from '#wire/dns/dns-name.ts'
import { rcodes, recordTypes } from '#wire/dns/record-type.ts'

/** The domains that a client searches, the first first. */
type SearchPath = (request: DnsRequest) => readonly string[]

/**
 * Walks the client's search path for it: a pod that asks for `example.org` asks for `example.org.shop.svc.cluster.local` first, and three
 * times more before it gets there. The answer to its first question is that of the last, with the way there as an alias.
 */
export const autopath: DnsPlugin = {
  name: 'autopath',
  async setup([directive], context) {
    const { zones, searchPath } = await readSettings(directive, context)
    return {
      handle: (next) => (request) => {
        const isAddress = request.type === recordTypes.A || request.type === recordTypes.AAAA
        if (!isAddress || zoneOf(request.name, zones) === undefined) return next(request)
        const path = searchPath(request)
        const [first = ''] = path
        const end = `.${first}`
        if (first === '' || !request.name.endsWith(end)) return next(request)
        return walked(next, request, request.name.slice(0, -end.length), path)
      },
    }
  },
}

async function walked(next: DnsHandler, request: DnsRequest, base: string, path: readonly string[]): Promise<DnsResponse> {
  let refused: DnsResponse | undefined
  // The name as it is comes last.
  for (const domain of [...path, '']) {
    const name = fullName(domain === '' ? base : `${base}.${domain}`)
    const response = await next(name === request.name ? request : { ...request, name, asked: name })
    if (response.rcode === rcodes.NXDOMAIN) {
      refused ??= response
      continue
    }
    return name === request.name ? response : withAlias(response, request, name)
  }
  return refused ?? dnsResponse({ rcode: rcodes.SERVFAIL })
}

function withAlias(response: DnsResponse, request: DnsRequest, target: string): DnsResponse {
  if (response.answers.length === 0) return response
  const ttlSeconds = Math.min(...response.answers.map((record) => record.ttlSeconds))
  const alias: DnsRecord = { name: request.asked, class: request.class, ttlSeconds, type: 'CNAME', target }
  return { ...response, answers: [alias, ...response.answers] }
}

async function readSettings(
  { args, line, block }: Directive,
  { zones: ownZones, cluster, files }: PluginContext,
): Promise<{ zones: readonly string[]; searchPath: SearchPath }> {
  const [source, ...zoneTexts] = args.toReversed()
  if (source === undefined || block.length > 0) throw new Error(`line ${line}: autopath wants [ZONE…] RESOLV-CONF or @kubernetes`)
  const zones = zoneTexts.length === 0 ? [...ownZones] : zoneTexts.reverse().map((zone) => zoneName(zone, line))
  const searchesIn = async (path: string) => searches((await files.readTextIfPresent(path)) ?? '')
  if (source !== '@kubernetes') {
    if (source.startsWith('@')) throw new Error(`line ${line}: autopath: ${source} knows no search paths; @kubernetes does`)
    const path = await searchesIn(source)
    return { zones, searchPath: () => path }
  }
  if (cluster === undefined) throw new Error(`line ${line}: autopath: no cluster is followed here`)
  // Only who knows the pods knows where they search.
  cluster.followPods()
  const ofMachine = await searchesIn('/etc/resolv.conf')
  const searchPath: SearchPath = ({ name, from }) => {
    const zone = zones.find((one) => isWithin(name, one))
    const namespace = cluster.names.podNamespaceAt(from.host)
    if (zone === undefined || namespace === undefined) return []
    const domain = domainIn(name, zone)
    return [`${namespace}.svc.${domain}`, `svc.${domain}`, domain, ...ofMachine]
  }
  return { zones, searchPath }
}

/** The cluster's domain: the zone, or where the block is for all names, what follows `svc`. */
function domainIn(name: string, zone: string): string {
  if (zone !== '.') return zone
  const place = name.indexOf('.svc.')
  return place < 0 ? zone : name.slice(place + '.svc.'.length)
}

function searches(text: string): string[] {
  const line = text.split('\n').findLast((each) => /^\s*search\s/.test(each)) ?? ''
  return line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map((domain) => fullName(domain.toLowerCase()))
}
