/** What a name leads to when a pod asks for it: the same core answers that answers real questions. */
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import type { ClusterObjects } from '#cmd/explain/explain-connection.ts'
import { answerFromCluster, type ClusterZone } from '#dns/zone/answer-from-cluster.ts'
import { ClusterNames } from '#dns/zone/cluster-names.ts'
import { parseClusterName } from '#dns/zone/parse-name.ts'
import { recordTypes } from '#wire/dns/record-type.ts'

const domain = 'cluster.local.'
const zone: ClusterZone = {
  ...{ zones: [domain, 'in-addr.arpa.', 'ip6.arpa.'], ttlSeconds: 30, pods: 'verified', endpointPodNames: false },
  ...{ ignoresEmptyServices: false, namespaces: [], ownAddresses: [] },
}
const usualDots = 5

export type ResolvedName =
  /** A name of a service: its ports and endpoints tell the rest. */
  | { kind: 'service'; namespace: string; name: string; steps: string[] }
  | { kind: 'addresses'; ips: string[]; steps: string[] }
  | { kind: 'nothing'; because: string }

export function resolveName(host: string, pod: V1Pod, objects: ClusterObjects): ResolvedName {
  const { dnsPolicy = 'ClusterFirst', hostNetwork = false } = pod.spec
  const asksCluster = dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && !hostNetwork)
  if (!asksCluster) {
    const why = dnsPolicy === 'ClusterFirst' ? 'is in the network of its node' : `has dnsPolicy ${dnsPolicy}`
    return { kind: 'nothing', because: `pod ${pod.metadata.name} ${why}: it does not ask the cluster's name server` }
  }
  const names = namesOf(objects)
  const missing: string[] = []
  const wanted = candidates(host, pod)
  for (const candidate of wanted) {
    const ask = (type: number) => answerFromCluster(names, zone, { name: candidate, asked: candidate, type })
    const answer = ask(recordTypes.A)
    if (answer === undefined) {
      const meant = wanted.map(serviceMeant).find((one) => one !== undefined)
      const hasPlace = meant !== undefined && objects.namespaces.some(({ metadata }) => metadata.name === meant.namespace)
      // A namespace that is there makes it likely that the name is meant to be one of a service.
      if (hasPlace || !host.includes('.')) return { kind: 'nothing', because: `there is no service ${meant?.namespace}/${meant?.name}` }
      return { kind: 'nothing', because: `${host} is not a name of the cluster: what it leads to is not known here${notFound(missing)}` }
    }
    if (answer.goOnWith !== undefined) {
      return {
        kind: 'nothing',
        because: `${candidate.slice(0, -1)} is a name for ${answer.goOnWith.replace(/\.$/, '')}: what that leads to is not known here`,
      }
    }
    const answers = [...answer.answers, ...(ask(recordTypes.AAAA)?.answers ?? [])]
    const ips = answers.flatMap((record) => ('address' in record ? [record.address] : []))
    if (answer.outcome !== 'found' || ips.length === 0) {
      const meant = serviceMeant(candidate)
      if (meant !== undefined && objects.services.some((one) => isCalled(one, meant))) return { kind: 'service', ...meant, steps: [] }
      missing.push(candidate.slice(0, -1))
      continue
    }
    const alias = answers.findLast((record) => record.type === 'CNAME')
    const last = alias?.type === 'CNAME' ? alias.target : candidate
    const leads = alias === undefined ? '' : `, another name for ${last.replace(/\.$/, '')}`
    const steps = [`the name ${host} is ${candidate.slice(0, -1)}${leads}: ${[...new Set(ips)].join(', ')}`]
    const parsed = parseClusterName(last.toLowerCase(), domain)
    if (parsed.kind === 'service') return { kind: 'service', namespace: parsed.namespace, name: parsed.service, steps }
    return { kind: 'addresses', ips: [...new Set(ips)], steps }
  }
  return { kind: 'nothing', because: `the name ${host} does not resolve${notFound(missing)}` }
}

/** A service that the name would be of, whether it is there or not: why it has no address is better told of the service. */
function serviceMeant(candidate: string): { namespace: string; name: string } | undefined {
  if (!candidate.endsWith(`.${domain}`)) return undefined
  const parsed = parseClusterName(candidate, domain)
  return parsed.kind === 'service' ? { namespace: parsed.namespace, name: parsed.service } : undefined
}

const isCalled = ({ metadata }: V1Service, { namespace, name }: { namespace: string; name: string }): boolean =>
  metadata.namespace === namespace && metadata.name === name

const notFound = (names: readonly string[]): string => (names.length === 0 ? '' : `; there is no ${names.join(', no ')}`)

/** As resolvers in pods try them: names with few dots within the domains to search first. */
function candidates(host: string, { metadata, spec }: V1Pod): string[] {
  const lower = host.toLowerCase()
  if (lower.endsWith('.')) return [lower]
  const own = [`${metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain]
  const more = (spec.dnsConfig?.searches ?? []).map((search) => `${search.toLowerCase().replace(/\.$/, '')}.`)
  const searched = [...own, ...more].map((search) => `${lower}.${search}`)
  const dots = Number(spec.dnsConfig?.options?.find(({ name }) => name === 'ndots')?.value ?? usualDots)
  const isLong = lower.split('.').length - 1 >= dots
  return isLong ? [`${lower}.`, ...searched] : [...searched, `${lower}.`]
}

function namesOf({ services, slices, pods, namespaces }: ClusterObjects): ClusterNames {
  const names = new ClusterNames(() => 0)
  for (const namespace of namespaces) names.setNamespace(namespace)
  for (const service of services) names.setService(service)
  for (const slice of slices) names.setSlice(slice)
  for (const pod of pods) names.setPod(pod)
  return names
}
