/** Configurations for those who bring none. */

export type CorefileOptions = {
  clusterDomain: string
  /** Where everything else is asked: addresses, or a file that names them. */
  upstreams: readonly string[]
  /** Other domains, with the servers for them. */
  stubDomains: Readonly<Record<string, readonly string[]>>
  /** Health, readiness and metrics, at CoreDNS' usual ports. */
  servesHealth: boolean
}

/** As clusters usually have it. */
export function defaultCorefile({ clusterDomain, upstreams, stubDomains, servesHealth }: CorefileOptions): string {
  const stubs = Object.entries(stubDomains).map(
    ([domain, servers]) => `${domain}:53 {\n    errors\n    cache 30\n    loop\n    forward . ${servers.join(' ')}\n}\n`,
  )
  const health = ['health {', '   lameduck 5s', '}', 'ready', 'prometheus :9153']
  const lines = [
    'errors',
    ...(servesHealth ? health : []),
    `kubernetes ${clusterDomain} in-addr.arpa ip6.arpa {`,
    '   pods insecure',
    '   fallthrough in-addr.arpa ip6.arpa',
    '   ttl 30',
    '}',
    ...(upstreams.length === 0 ? [] : [`forward . ${upstreams.join(' ')} {`, '   max_concurrent 1000', '}']),
    'cache 30 {',
    '   prefetch 10 1m 10%',
    `   disable success ${clusterDomain}`,
    `   disable denial ${clusterDomain}`,
    '}',
    'loop',
    'reload',
    'loadbalance',
  ]
  return `.:53 {\n${lines.map((line) => `    ${line}\n`).join('')}}\n${stubs.join('')}`
}

export type NodeCacheOptions = {
  /** Listened on, here and nowhere else. */
  addresses: readonly string[]
  clusterDomain: string
  /** The cluster's servers, asked by TCP: no packet of theirs is lost, and no entry of the kernel's tables is held for long. */
  clusterServers: readonly string[]
  upstreams: readonly string[]
}

/** A cache beside the pods of one node, in front of the cluster's servers. */
export function nodeCacheCorefile({ addresses, clusterDomain, clusterServers, upstreams }: NodeCacheOptions): string {
  const bind = `bind ${addresses.join(' ')}`
  const toCluster = `forward . ${clusterServers.join(' ')} {\n        force_tcp\n    }`
  const own = [clusterDomain, 'in-addr.arpa', 'ip6.arpa'].map(
    (zone) =>
      `${zone}:53 {\n    errors\n    cache {\n        success 9984 30\n        denial 9984 5\n    }\n    reload\n    loop\n    ${bind}\n    ${toCluster}\n}\n`,
  )
  return `${own.join('')}.:53 {\n    errors\n    cache 30\n    reload\n    loop\n    ${bind}\n    forward . ${upstreams.join(' ')}\n}\n`
}
