import type { Directive } from '#dns/corefile/parse-corefile.ts'
import { zoneName } from '#dns/corefile/zone-address.ts'
import { type DnsRequest, type DnsResponse, dnsResponse } from '#dns/handler.ts'
import { type DnsPlugin, type PluginContext, wholeNumberAt, wrongOption } from '#dns/plugin.ts'
import { answerFromCluster, type ClusterAnswer, type ClusterZone, mostRecords, startOfAuthority } from '#dns/zone/answer-from-cluster.ts'
import { isWithin } from '#wire/dns/dns-name.ts'
import { rcodes } from '#wire/dns/record-type.ts'

const longestTtlSeconds = 3600
const usualTtlSeconds = 5

/** The cluster's own names. */
export const kubernetes: DnsPlugin = {
  name: 'kubernetes',
  setup([directive], context) {
    const { cluster } = context
    if (cluster === undefined) throw new Error(`line ${directive.line}: kubernetes: no cluster is followed here`)
    const { zone, fallsThrough } = readSettings(directive, context)
    const { names } = cluster
    let turn = 0
    if (zone.pods === 'verified') cluster.followPods()
    return {
      handle: (next) => (request) => {
        turn = (turn + mostRecords) % 2 ** 31
        const answer = answerFromCluster(names, zone, request, turn)
        if (answer === undefined) return next(request)
        if (answer.outcome === 'refused') return dnsResponse({ rcode: rcodes.REFUSED })
        if (answer.outcome === 'no such name') {
          if (fallsThrough(request.name)) return next(request)
          return denial(answer, cluster.hasSynced() ? rcodes.NXDOMAIN : rcodes.SERVFAIL)
        }
        return answer.goOnWith === undefined ? whole(answer) : completed(answer, answer.goOnWith, request)
      },
    }

    function denial({ zone: owner }: ClusterAnswer, rcode: number): DnsResponse {
      return dnsResponse({ rcode, isAuthoritative: true, authority: [startOfAuthority(owner, zone, names.serial)] })
    }
    function whole(answer: ClusterAnswer): DnsResponse {
      if (answer.answers.length === 0) return denial(answer, rcodes.NOERROR)
      return dnsResponse({ isAuthoritative: true, answers: answer.answers, additional: answer.additional })
    }
    async function completed(answer: ClusterAnswer, target: string, request: DnsRequest): Promise<DnsResponse> {
      try {
        const found = await context.lookup(target, request.type, request)
        return dnsResponse({ isAuthoritative: true, isTruncated: found.isTruncated, answers: [...answer.answers, ...found.answers] })
      } catch {
        // Who asks for the name is told that there is nothing, as long as nobody knows better.
        return denial(answer, rcodes.NOERROR)
      }
    }
  },
}

function readSettings(
  { args, block, line }: Directive,
  { zones, cluster }: PluginContext,
): { zone: ClusterZone; fallsThrough(name: string): boolean } {
  const own = args.length === 0 ? [...zones] : args.map((zone) => zoneName(zone, line))
  const zone: ClusterZone = {
    ...{ zones: own, ttlSeconds: usualTtlSeconds, pods: 'disabled', endpointPodNames: false, ignoresEmptyServices: false },
    ...{ namespaces: [], ownAddresses: cluster?.ownAddresses ?? [] },
  }
  let through: string[] | undefined
  for (const option of block) {
    const [first = ''] = option.args
    if (option.name === 'pods' && (first === 'disabled' || first === 'insecure' || first === 'verified')) zone.pods = first
    else if (option.name === 'ttl') zone.ttlSeconds = ttlOf(option)
    else if (option.name === 'endpoint_pod_names') zone.endpointPodNames = true
    else if (option.name === 'ignore' && first === 'empty_service') zone.ignoresEmptyServices = true
    else if (option.name === 'namespaces') zone.namespaces = [...zone.namespaces, ...option.args]
    else if (option.name === 'fallthrough')
      through = option.args.length === 0 ? own : option.args.map((each) => zoneName(each, option.line))
    else throw wrongOption('kubernetes', option)
  }
  return { zone, fallsThrough: (name) => through?.some((each) => isWithin(name, each)) ?? false }
}

function ttlOf(option: Directive): number {
  const ttl = wholeNumberAt(option, 0)
  if (ttl > longestTtlSeconds) throw new Error(`line ${option.line}: ttl must be in range [0, ${longestTtlSeconds}]: ${ttl}`)
  return ttl
}
