/** How a pod looks up names: by the cluster's servers, the node's, or its own. */
import type { V1Pod, V1PodDNSConfigOption } from '#api/core/v1/types.gen.ts'
import { dns1123SubdomainMaxLength } from '#api/meta/names.ts'
import type { DnsPlan } from '#kubelet/runtimes/plans.ts'

export type DnsSettings = {
  /** Addresses of the cluster's own servers; pods get the node's where there are none. */
  clusterDns: readonly string[]
  /** `cluster.local` */
  clusterDomain: string
  /** The node's file, such as /etc/resolv.conf; empty: pods are told to ask themselves. */
  resolvConf: string
}

export type PodDns = {
  plan: DnsPlan
  /** What could not be had, for events about the pod. */
  warnings: { reason: 'DNSConfigForming' | 'MissingClusterDNS'; message: string }[]
}

const longestSearchList = 32
const longestSearchText = 2048
const mostServers = 3

/** `nodeResolvConf` is the text of the node's file. */
export function podDns(pod: V1Pod, settings: DnsSettings, nodeResolvConf: string, nodeIps: readonly string[]): PodDns {
  const warnings: PodDns['warnings'] = []
  const plan = basePlan(pod, settings, parseResolvConf(nodeResolvConf), nodeIps, warnings)
  const { nameservers, searches, options } = pod.spec.dnsConfig ?? {}
  if (pod.spec.dnsConfig !== undefined) {
    plan.servers = unique([...plan.servers, ...(nameservers ?? [])])
    plan.searches = unique([...plan.searches, ...(searches ?? [])])
    plan.options = withOptions(plan.options, options ?? [])
  }
  return { plan: withinLimits(plan, warnings), warnings }
}

function basePlan(pod: V1Pod, settings: DnsSettings, node: DnsPlan, nodeIps: readonly string[], warnings: PodDns['warnings']): DnsPlan {
  const { dnsPolicy = 'ClusterFirst', hostNetwork = false } = pod.spec
  if (dnsPolicy === 'None') return { servers: [], searches: [], options: [] }
  const wantsCluster = dnsPolicy !== 'Default' && !(dnsPolicy === 'ClusterFirst' && hostNetwork)
  if (wantsCluster && settings.clusterDns.length > 0) {
    return { servers: [...settings.clusterDns], searches: clusterSearches(pod, settings, node.searches), options: ['ndots:5'] }
  }
  if (wantsCluster) {
    const { namespace = '', name = '', uid = '' } = pod.metadata
    const what = 'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy.'
    warnings.push({
      reason: 'MissingClusterDNS',
      message: `pod: "${name}_${namespace}(${uid})". ${what} Falling back to "Default" policy.`,
    })
  }
  if (settings.resolvConf !== '') return node
  const own = nodeIps.map((ip) => (ip.includes(':') ? '::1' : '127.0.0.1'))
  return { servers: own.length === 0 ? ['127.0.0.1'] : own, searches: ['.'], options: [] }
}

function clusterSearches({ metadata }: V1Pod, { clusterDomain }: DnsSettings, nodeSearches: readonly string[]): string[] {
  if (clusterDomain === '') return [...nodeSearches]
  return unique([`${metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain, ...nodeSearches])
}

/** What resolvers of the world can take. */
function withinLimits({ servers, searches, options }: DnsPlan, warnings: PodDns['warnings']): DnsPlan {
  const fewServers = servers.slice(0, mostServers)
  if (fewServers.length < servers.length) {
    const what = 'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is:'
    warnings.push({ reason: 'DNSConfigForming', message: `${what} ${fewServers.join(' ')}` })
  }
  const fewSearches = searches.slice(0, longestSearchList).filter((search) => search.length <= dns1123SubdomainMaxLength)
  while (fewSearches.join(' ').length > longestSearchText) fewSearches.pop()
  if (fewSearches.length < searches.length) {
    const what = 'Search Line limits were exceeded, some search paths have been omitted, the applied search line is:'
    warnings.push({ reason: 'DNSConfigForming', message: `${what} ${fewSearches.join(' ')}` })
  }
  return { servers: fewServers, searches: fewSearches, options }
}

/** Of options with one name the last counts. */
function withOptions(present: readonly string[], added: readonly V1PodDNSConfigOption[]): string[] {
  const values = new Map<string, string>()
  for (const option of present) {
    const [name = '', ...value] = option.split(':')
    values.set(name, value.join(':'))
  }
  for (const { name = '', value = '' } of added) values.set(name, value)
  return [...values].map(([name, value]) => (value === '' ? name : `${name}:${value}`))
}

/** Servers add up, the last line of searches counts, and of options with one name the last. */
export function parseResolvConf(text: string): DnsPlan {
  const servers: string[] = []
  let searches: string[] = []
  let options: string[] = []
  for (const line of text.split('\n')) {
    const [keyword = '', ...words] = line.trim().split(/\s+/)
    if (keyword === 'nameserver') {
      if (words[0] === undefined) throw new Error('Encountered error while parsing resolv conf file. Error: nameserver list is empty ')
      servers.push(words[0])
    } else if (keyword === 'search') {
      searches = words.filter((word) => word !== '.').map((word) => word.replace(/\.$/, ''))
    } else if (keyword === 'options') {
      options = withOptions([...options, ...words], [])
    }
  }
  return { servers, searches, options }
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)]
