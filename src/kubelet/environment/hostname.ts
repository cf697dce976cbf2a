import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { dns1123Label, dns1123Subdomain } from '#api/meta/names.ts'
import { trimEndOf } from '#base/trim-end.ts'

const longestHostname = 63
const longestFqdn = 64

/** The pod's short name, and the domain it is in: empty unless it has a subdomain. */
export function hostnameAndDomain({ metadata, spec }: V1Pod, clusterDomain: string): { hostname: string; domain: string } {
  const { name = '', namespace = '' } = metadata
  const { hostname = '', subdomain = '', hostnameOverride } = spec
  if (hostnameOverride !== undefined) {
    const problems = dns1123Subdomain(hostnameOverride)
    if (problems.length > 0) {
      throw new Error(`pod HostnameOverride ${quoted(hostnameOverride)} is not a valid DNS subdomain: ${problems.join(';')}`)
    }
    return { hostname: truncated(name, hostnameOverride), domain: '' }
  }
  mustBeLabel('Hostname', hostname)
  mustBeLabel('Subdomain', subdomain)
  return {
    hostname: truncated(name, hostname === '' ? name : hostname),
    domain: subdomain === '' ? '' : `${subdomain}.${namespace}.svc.${clusterDomain}`,
  }
}

/** What the kernel is told; empty for pods that have the node's. */
export function kernelHostname(pod: V1Pod, clusterDomain: string): string {
  if (pod.spec.hostNetwork) return ''
  const { hostname, domain } = hostnameAndDomain(pod, clusterDomain)
  if (domain === '' || !pod.spec.setHostnameAsFQDN) return hostname
  const full = `${hostname}.${domain}`
  if (full.length > longestFqdn) {
    const lengths = `(${longestFqdn} characters is the max, ${full.length} characters requested)`
    throw new Error(`failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long ${lengths}`)
  }
  return full
}

function mustBeLabel(field: string, value: string): void {
  const problems = value === '' ? [] : dns1123Label(value)
  if (problems.length > 0) throw new Error(`pod ${field} ${quoted(value)} is not a valid DNS label: ${problems.join(';')}`)
}

function truncated(podName: string, hostname: string): string {
  if (hostname.length <= longestHostname) return hostname
  const short = trimEndOf(hostname.slice(0, longestHostname), '-.')
  if (short === '') throw new Error(`hostname for pod ${quoted(podName)} was invalid: ${quoted(hostname)}`)
  return short
}
