import type { V1Pod } from '#api/core/v1/types.gen.ts'

/** The text of a pod's /etc/hosts: its own addresses, or the node's file where it has the node's network. */
export function hostsFile(
  { spec }: V1Pod,
  { ips, hostname, domain, nodeHosts }: { ips: readonly string[]; hostname: string; domain: string; nodeHosts: string },
): string {
  const aliases = aliasLines(spec.hostAliases ?? [])
  if (spec.hostNetwork) return `# Kubernetes-managed hosts file (host network).\n${nodeHosts}${aliases}`
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`
  return `${header}${ips.map((ip) => `${ip}\t${names}\n`).join('')}${aliases}`
}

const header = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`

function aliasLines(aliases: NonNullable<V1Pod['spec']['hostAliases']>): string {
  if (aliases.length === 0) return ''
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`)
  return `\n# Entries added by HostAliases.\n${lines.join('')}`
}
