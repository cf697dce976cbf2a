/** The cluster's own names, after the Kubernetes DNS specification and as CoreDNS answers them. Pure: simulations ask it too. */
import { type ClusterNames, type EndpointEntry, endpointName, type NamedPort, type ServiceEntry } from '#dns/zone/cluster-names.ts'
import { type ParsedName, parseClusterName } from '#dns/zone/parse-name.ts'
import { addressOfReverseName, isReverseName } from '#dns/zone/reverse-name.ts'
import type { DnsRecord, DnsRecordData } from '#wire/dns/dns-message.ts'
import { isWithin, zoneOf } from '#wire/dns/dns-name.ts'
import { canonicalIp } from '#wire/dns/ip-bytes.ts'
import { internetClass, recordTypes } from '#wire/dns/record-type.ts'

export type ClusterZone = {
  /** In small letters, with a dot at the end; the first that is no reverse zone names services. */
  zones: readonly string[]
  ttlSeconds: number
  /** Whether `a-b-c-d.namespace.pod` is answered: never, always, or where there is such a pod. */
  pods: 'disabled' | 'insecure' | 'verified'
  /** Endpoints without a hostname are called after their pods. */
  endpointPodNames: boolean
  /** Services without endpoints do not exist. */
  ignoresEmptyServices: boolean
  /** All where empty. */
  namespaces: readonly string[]
  /** Where this server is reached. */
  ownAddresses: readonly string[]
}

export type ClusterQuestion = { name: string; asked: string; type: number }

export type ClusterAnswer = {
  /** `refused`: for a transfer of the whole zone. */
  outcome: 'found' | 'no such name' | 'refused'
  zone: string
  /** Empty for a name that exists and has no records of this type. */
  answers: DnsRecord[]
  additional: DnsRecord[]
  /** The answers end in another name, that somebody else has to be asked for. */
  goOnWith?: string
}

const longestChain = 10
/** A message of 65,535 bytes has room for fewer. */
export const mostRecords = 4096
/** Endpoints that are looked at for so many different addresses. */
const mostEndpoints = 5 * mostRecords
const schemaVersion = '1.1.0'
const schemaTtlSeconds = 28_800

/**
 * Undefined where the name is in none of the zones. `turn`, any whole number, says which endpoints come first where there are more than an
 * answer has room for.
 */
export function answerFromCluster(names: ClusterNames, zone: ClusterZone, question: ClusterQuestion, turn = 0): ClusterAnswer | undefined {
  const found = zoneOf(question.name, zone.zones)
  if (found === undefined) return undefined
  return new Answering(names, zone, found, question, turn).answer()
}

/** What goes with every answer that has no records. */
export function startOfAuthority(zone: string, { ttlSeconds }: Pick<ClusterZone, 'ttlSeconds'>, serial: number): DnsRecord {
  return {
    ...{ name: zone, class: internetClass, ttlSeconds: Math.min(ttlSeconds, 300), type: 'SOA' as const },
    ...{ primary: `ns.dns.${zone}`, mailbox: `hostmaster.${zone}`, serial },
    ...{ refreshSeconds: 7200, retrySeconds: 1800, expireSeconds: 86_400, minimumSeconds: ttlSeconds },
  }
}

/** An address, or another name, that a name leads to. */
type Lead = { ip: string; owner: string; ports: readonly NamedPort[] } | { target: string }

class Answering {
  readonly #names: ClusterNames
  readonly #settings: ClusterZone
  readonly #zone: string
  readonly #question: ClusterQuestion
  readonly #turn: number
  readonly #answer: ClusterAnswer

  constructor(names: ClusterNames, settings: ClusterZone, zone: string, question: ClusterQuestion, turn: number) {
    this.#names = names
    this.#settings = settings
    this.#zone = zone
    this.#question = question
    this.#turn = turn
    this.#answer = { outcome: 'found', zone, answers: [], additional: [] }
  }

  answer(): ClusterAnswer {
    const { name, type } = this.#question
    if (type === recordTypes.AXFR || type === recordTypes.IXFR) return { ...this.#answer, outcome: 'refused' }
    if (type === recordTypes.PTR && isReverseName(name)) return this.#reverse()
    if (name === this.#zone && type === recordTypes.SOA) {
      this.#answer.answers.push(startOfAuthority(this.#zone, this.#settings, this.#names.serial))
      return this.#answer
    }
    if (name === this.#zone && type === recordTypes.NS) return this.#nameServers()
    if (name === `dns-version.${this.#zone}` && type === recordTypes.TXT) {
      this.#answer.answers.push({ ...this.#record({ type: 'TXT', texts: [schemaVersion] }), ttlSeconds: schemaTtlSeconds })
      return this.#answer
    }
    if (name === `ns.dns.${this.#zone}`) return this.#withAddresses(this.#ownAddresses().map(({ ip }) => ip))
    const leads = this.#leads(name)
    if (leads === undefined) return { ...this.#answer, outcome: 'no such name' }
    if (type === recordTypes.SRV) return this.#withServices(leads)
    if (type === recordTypes.CNAME) {
      for (const lead of leads) if ('target' in lead) this.#answer.answers.push(this.#record({ type: 'CNAME', target: lead.target }))
      return this.#answer
    }
    if (type === recordTypes.A || type === recordTypes.AAAA || leads.some((lead) => 'target' in lead)) return this.#follow(leads)
    return this.#answer
  }

  /** Addresses of the name, and of those it is another name for. */
  #follow(first: readonly Lead[]): ClusterAnswer {
    const { answers } = this.#answer
    const seen = new Set([this.#question.name])
    let leads = first
    let owner = this.#question.asked
    for (;;) {
      const alias = leads.find((lead) => 'target' in lead)
      if (alias === undefined) break
      const target = alias.target.toLowerCase()
      // Names that lead to each other lead nowhere.
      if (seen.has(target) || seen.size > longestChain) return { ...this.#answer, answers: [] }
      seen.add(target)
      answers.push(this.#record({ type: 'CNAME', target: alias.target }, owner))
      if (!isWithin(target, this.#zone)) return { ...this.#answer, goOnWith: alias.target }
      const next = this.#leads(target)
      if (next === undefined || next.length === 0) return { ...this.#answer, answers: [] }
      leads = next
      owner = alias.target
    }
    const ips = leads.map((lead) => ('ip' in lead ? lead.ip : ''))
    const before = answers.length
    this.#withAddresses(ips, owner)
    return answers.length === before ? { ...this.#answer, answers: [] } : this.#answer
  }

  #withAddresses(ips: readonly string[], owner = this.#question.asked): ClusterAnswer {
    const { type } = this.#question
    if (type !== recordTypes.A && type !== recordTypes.AAAA) return this.#answer
    const wantsSix = type === recordTypes.AAAA
    for (const ip of new Set(ips)) if (ip.includes(':') === wantsSix) this.#answer.answers.push(this.#record(addressData(ip), owner))
    return this.#answer
  }

  #withServices(leads: readonly Lead[]): ClusterAnswer {
    const { answers, additional } = this.#answer
    const count = leads.reduce((sum, lead) => sum + ('ip' in lead ? lead.ports.length : 0), 0)
    const weight = Math.max(1, Math.floor(100 / count))
    const seen = new Set<string>()
    for (const lead of leads) {
      if (!('ip' in lead)) continue
      const { owner, ip } = lead
      for (const { port } of lead.ports) {
        if (answers.length >= mostRecords) return this.#answer
        if (!seen.has(`${owner} ${port}`)) answers.push(this.#record({ type: 'SRV', priority: 0, weight, port, target: owner }))
        if (!seen.has(`${owner} ${ip}`)) additional.push(this.#record(addressData(ip), owner))
        seen.add(`${owner} ${port}`).add(`${owner} ${ip}`)
      }
    }
    return this.#answer
  }

  #reverse(): ClusterAnswer {
    const ip = addressOfReverseName(this.#question.name)
    const primary = this.#settings.zones.find((zone) => !isReverseName(zone)) ?? this.#zone
    const targets = new Set<string>()
    const service = ip === undefined ? undefined : this.#names.serviceAt(ip)
    if (service !== undefined && this.#isServed(service.namespace)) targets.add(`${service.name}.${service.namespace}.svc.${primary}`)
    else if (ip !== undefined) {
      let seen = 0
      for (const endpoint of this.#names.endpointsAt(ip)) {
        if (++seen > mostEndpoints || targets.size >= mostRecords) break
        const { namespace, service: owner } = endpoint
        if (this.#isServed(namespace))
          targets.add(`${endpointName(endpoint, this.#settings.endpointPodNames)}.${owner}.${namespace}.svc.${primary}`)
      }
    }
    for (const target of targets) this.#answer.answers.push(this.#record({ type: 'PTR', target }))
    if (targets.size > 0 || this.#question.name === this.#zone) return this.#answer
    return { ...this.#answer, outcome: 'no such name' }
  }

  #nameServers(): ClusterAnswer {
    const seen = new Set<string>()
    for (const { owner, ip } of this.#ownAddresses()) {
      if (!seen.has(owner)) this.#answer.answers.push(this.#record({ type: 'NS', target: owner }))
      seen.add(owner)
      this.#answer.additional.push(this.#record(addressData(ip), owner))
    }
    return this.#answer
  }

  /** The services that lead to this server, or else where it listens. */
  #ownAddresses(): { owner: string; ip: string }[] {
    const found: { owner: string; ip: string }[] = []
    for (const address of this.#settings.ownAddresses) {
      for (const { namespace, service } of this.#names.endpointsAt(address)) {
        const { clusterIps = [] } = this.#names.service(namespace, service) ?? {}
        for (const ip of clusterIps) found.push({ owner: `${service}.${namespace}.svc.${this.#zone}`, ip })
      }
    }
    if (found.length > 0) return found
    return this.#settings.ownAddresses.map((ip) => ({ owner: `ns.dns.${this.#zone}`, ip }))
  }

  /** Undefined where there is no such name; none where it exists and leads nowhere. */
  #leads(name: string): readonly Lead[] | undefined {
    if (isReverseName(this.#zone)) return name === this.#zone ? [] : undefined
    const parsed = parseClusterName(name, this.#zone)
    if (parsed.kind === 'holder') return []
    if (parsed.kind === 'unknown' || !this.#isServed(parsed.namespace)) return undefined
    if (parsed.kind === 'namespace') return []
    return parsed.kind === 'pod' ? this.#podLeads(parsed) : this.#serviceLeads(parsed)
  }

  #isServed(namespace: string): boolean {
    const { namespaces } = this.#settings
    return this.#names.hasNamespace(namespace) && (namespaces.length === 0 || namespaces.includes(namespace))
  }

  #podLeads({ namespace, pod }: Extract<ParsedName, { kind: 'pod' }>): readonly Lead[] | undefined {
    const { pods } = this.#settings
    if (pods === 'disabled') return undefined
    const isFour = pod.split('-').length === 4 && !pod.includes('--')
    const ip = canonicalIp(pod.replaceAll('-', isFour ? '.' : ':'))
    if (ip === undefined) return undefined
    if (pods === 'verified' && !this.#names.hasPodAt(ip, namespace)) return undefined
    return [{ ip, owner: `${pod}.${namespace}.pod.${this.#zone}`, ports: [] }]
  }

  #serviceLeads(asked: Extract<ParsedName, { service: string }>): readonly Lead[] | undefined {
    const { namespace, service: name } = asked
    const service = this.#names.service(namespace, name)
    if (service === undefined) return undefined
    if (service.externalName !== undefined) return asked.kind === 'service' ? aliasOf(service.externalName) : undefined
    if (this.#settings.ignoresEmptyServices && !service.isHeadless && this.#names.endpointsOf(namespace, name).length === 0)
      return undefined
    if (asked.kind === 'endpoint' || service.isHeadless) {
      const leads = this.#endpointLeads(asked, service)
      return leads.length > 0 ? leads : undefined
    }
    const ports = matching(service.ports, asked)
    if (asked.kind === 'port' && ports.length === 0) return undefined
    const owner = `${name}.${namespace}.svc.${this.#zone}`
    return service.clusterIps.map((ip) => ({ ip, owner, ports }))
  }

  #endpointLeads(asked: Extract<ParsedName, { service: string }>, { namespace, name }: ServiceEntry): Lead[] {
    const { endpointPodNames } = this.#settings
    const endpoints: readonly EndpointEntry[] =
      asked.kind === 'endpoint'
        ? this.#names.endpointsCalled(namespace, name, asked.endpoint, endpointPodNames)
        : this.#names.endpointsOf(namespace, name)
    const leads: Lead[] = []
    for (const endpoint of roomFor(endpoints, this.#turn)) {
      const ports = matching(endpoint.ports, asked)
      if (asked.kind === 'port' && ports.length === 0) continue
      leads.push({ ip: endpoint.ip, owner: `${endpointName(endpoint, endpointPodNames)}.${name}.${namespace}.svc.${this.#zone}`, ports })
    }
    return leads
  }

  #record(data: DnsRecordData, name = this.#question.asked): DnsRecord {
    return { name, class: internetClass, ttlSeconds: this.#settings.ttlSeconds, ...data }
  }
}

/** All of them, or as many as an answer may hold: those that do not fit would be made and thrown away again for each question. */
function roomFor(endpoints: readonly EndpointEntry[], turn: number): readonly EndpointEntry[] {
  if (endpoints.length <= mostRecords) return endpoints
  const chosen: EndpointEntry[] = []
  const addresses = new Set<string>()
  const first = turn % endpoints.length
  for (let index = 0; index < Math.min(endpoints.length, mostEndpoints) && addresses.size < mostRecords; index++) {
    const endpoint = endpoints[(first + index) % endpoints.length] as EndpointEntry
    chosen.push(endpoint)
    addresses.add(endpoint.ip)
  }
  return chosen
}

/** An address is no name to lead to. */
function aliasOf(externalName: string): readonly Lead[] | undefined {
  return canonicalIp(externalName.slice(0, -1)) === undefined ? [{ target: externalName }] : undefined
}

function addressData(ip: string): DnsRecordData {
  return ip.includes(':') ? { type: 'AAAA', address: ip } : { type: 'A', address: ip }
}

function matching(ports: readonly NamedPort[], asked: ParsedName): readonly NamedPort[] {
  if (asked.kind !== 'port') return ports
  const { port: wanted, protocol: by } = asked
  return ports.filter(({ name, protocol }) => (wanted === '' || name === wanted) && (by === '' || protocol === by))
}
