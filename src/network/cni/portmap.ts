/** Ports of the node that lead to containers: maps in the kernel, one for each protocol and family. */
import { canonicalIp } from '#api/meta/ip.ts'
import { asLines } from '#base/as-lines.ts'
import { CniError, type CniPlugin, type CniRequest, type CniResult, type PortMapping } from '#network/cni/contract.ts'

const table = 'inet typernetes_hostports'
const protocols = ['tcp', 'udp', 'sctp'] as const
const families = [
  { name: 'ip', type: 'ipv4_addr', number: 4 },
  { name: 'ip6', type: 'ipv6_addr', number: 6 },
] as const

/** Rules that are there once for all containers; what differs between them are elements of the maps. */
export function portmapRules(): string {
  const maps = families.flatMap(({ type, number }) => [
    ...protocols.flatMap((protocol) => [
      `map ${protocol}${number} { type inet_service : ${type} . inet_service; }`,
      `map ${protocol}${number}_at { type ${type} . inet_service : ${type} . inet_service; }`,
    ]),
    // A container that calls its own port by way of the node.
    `set hairpin${number} { type ${type} . ${type}; }`,
  ])
  const leads = families.flatMap(({ name, number }) =>
    protocols.flatMap((protocol) => {
      const match = `meta nfproto ipv${number} meta l4proto ${protocol}`
      return [
        `${match} dnat ${name} to ${name} daddr . ${protocol} dport map @${protocol}${number}_at`,
        `${match} dnat ${name} to ${protocol} dport map @${protocol}${number}`,
      ]
    }),
  )
  const chains: Record<string, { hook?: string; rules: readonly string[] }> = {
    ports: { rules: leads },
    prerouting: { hook: 'type nat hook prerouting priority -100; policy accept;', rules: ['fib daddr type local jump ports'] },
    output: { hook: 'type nat hook output priority -100; policy accept;', rules: ['fib daddr type local jump ports'] },
    postrouting: {
      hook: 'type nat hook postrouting priority 100; policy accept;',
      rules: [
        'ct status dnat ip saddr . ip daddr @hairpin4 masquerade',
        'ct status dnat ip6 saddr . ip6 daddr @hairpin6 masquerade',
        'ct status dnat ip saddr 127.0.0.0/8 oifname != "lo" masquerade',
      ],
    },
  }
  // To declare what is there changes nothing; rules would come twice, so that chains are emptied first, in the same transaction.
  const declared = Object.entries(chains).map(([name, { hook = '' }]) => `chain ${name} { ${hook} }`)
  return [
    `table ${table} {`,
    ...[...maps, ...declared].map((line) => `  ${line}`),
    '}',
    ...Object.keys(chains).map((name) => `flush chain ${table} ${name}`),
    ...Object.entries(chains).flatMap(([name, { rules }]) => rules.map((rule) => `add rule ${table} ${name} ${rule}`)),
    '',
  ].join('\n')
}

const longestMs = 60_000

export type Element = { map: string; key: string; value?: string }

/**
 * What a container's ports are in the maps. All of it becomes text that nft reads as root, and nobody else has looked at an address of the
 * node that a pod asks for.
 */
export function portElements(mappings: readonly PortMapping[], addresses: readonly string[]): Element[] {
  const elements: Element[] = []
  const asked = mappings
    .filter(({ hostPort }) => hostPort > 0)
    .map((mapping) => ({
      ...mapping,
      ...{ hostPort: portNumber(mapping.hostPort), containerPort: portNumber(mapping.containerPort) },
      hostIP: mapping.hostIP ? addressOf(mapping.hostIP) : undefined,
    }))
  for (const address of addresses.map((one) => addressOf(one.split('/')[0] ?? ''))) {
    const isV6 = address.includes(':')
    const number = isV6 ? 6 : 4
    const own = asked.filter(({ hostIP }) => isAny(hostIP) || hostIP.includes(':') === isV6)
    for (const { hostPort, containerPort, protocol = 'tcp', hostIP } of own) {
      const kind = protocols.find((known) => known === protocol.toLowerCase())
      if (kind === undefined) throw new CniError(7, `unknown protocol ${protocol}`)
      const value = `${address} . ${containerPort}`
      if (isAny(hostIP)) elements.push({ map: `${kind}${number}`, key: String(hostPort), value })
      else elements.push({ map: `${kind}${number}_at`, key: `${hostIP} . ${hostPort}`, value })
    }
    if (own.length > 0) elements.push({ map: `hairpin${number}`, key: `${address} . ${address}` })
  }
  return elements
}

const isAny = (address: string | undefined): address is undefined => address === undefined || ['0.0.0.0', '::'].includes(address)

function addressOf(text: string): string {
  const address = canonicalIp(text)
  if (address === undefined) throw new CniError(7, `${JSON.stringify(text)} is no IP address`)
  return address
}

function portNumber(port: number): number {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new CniError(7, `${JSON.stringify(port)} is no port`)
  return port
}

export const portmap: CniPlugin = {
  async add(request) {
    const result = request.prevResult
    if (result === undefined) throw new CniError(7, 'must be called as chained plugin')
    const mappings = request.conf.runtimeConfig?.portMappings ?? []
    if (mappings.length === 0) return result
    const words = wordsFor(request)
    const elements = portElements(mappings, ownAddresses(request, result))
    const places = new Set(elements.map(({ map, key }) => `${map} ${key}`))
    // Who has a port by now has it rightly: what a container before has left there goes.
    await drop(
      request,
      (await allElements(request)).filter(({ map, key, comment }) => comment === words || places.has(`${map} ${key}`)),
    )
    const lines = elements.map(
      ({ map, key, value }) => `add element ${table} ${map} { ${key} comment "${words}"${value === undefined ? '' : ` : ${value}`} }`,
    )
    await nft(request, `${portmapRules()}${asLines(lines)}`)
    await allowLocalSource(request, result)
    return result
  },
  remove: (request) => forget(request),
  async check(request) {
    const mappings = request.conf.runtimeConfig?.portMappings ?? []
    const there = await elementsOf(request)
    if (mappings.length > 0 && there.length === 0) throw new CniError(100, `the host ports of container ${request.containerId} are gone`)
  },
  async collect(request, valid) {
    const known = new Set(valid.map(({ containerID, ifname }) => `${containerID} ${ifname}`))
    await drop(
      request,
      (await allElements(request)).filter(({ comment }) => comment !== undefined && !known.has(comment)),
    )
  },
}

const wordsFor = ({ containerId, ifName }: CniRequest): string => `${containerId} ${ifName}`

function ownAddresses({ ifName }: CniRequest, { ips, interfaces }: CniResult): string[] {
  return ips.filter(({ interface: index }) => index === undefined || interfaces[index]?.name === ifName).map(({ address }) => address)
}

async function forget(request: CniRequest): Promise<void> {
  await drop(request, await elementsOf(request))
}

type PresentElement = { map: string; key: string; comment: string | undefined }

async function elementsOf(request: CniRequest): Promise<PresentElement[]> {
  return (await allElements(request)).filter(({ comment }) => comment === wordsFor(request))
}

async function drop(request: CniRequest, elements: readonly PresentElement[]): Promise<void> {
  if (elements.length === 0) return
  await nft(request, asLines(elements.map(({ map, key }) => `delete element ${table} ${map} { ${key} }`)))
}

type NftElement = { elem?: { val: unknown; comment?: string } }
type NftObject = { map?: { name: string; elem?: [NftElement, unknown][] }; set?: { name: string; elem?: NftElement[] } }

async function allElements({ seams }: CniRequest): Promise<PresentElement[]> {
  const { exitCode, stdout } = await seams.processes
    .run('nft', ['-j', 'list', 'table', ...table.split(' ')], { timeoutMs: longestMs })
    // Without the program there can be no rules.
    .catch(() => ({ exitCode: 1, stdout: '' }))
  if (exitCode !== 0) return []
  const { nftables } = JSON.parse(stdout) as { nftables: NftObject[] }
  return nftables.flatMap(({ map, set }) => {
    const name = map?.name ?? set?.name
    if (name === undefined) return []
    const elements = [...(map?.elem ?? []).map(([key]) => key), ...(set?.elem ?? [])]
    return elements.map(({ elem }) => ({ map: name, key: keyText(elem?.val), comment: elem?.comment }))
  })
}

function keyText(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'concat' in value) return (value.concat as unknown[]).join(' . ')
  return String(value)
}

async function nft({ seams }: CniRequest, text: string): Promise<void> {
  const { exitCode, stderr } = await seams.processes.run('nft', ['-f', '-'], { input: text, timeoutMs: longestMs }).catch(() => {
    throw new CniError(100, 'host ports need the program nft (Debian: apt install nftables)')
  })
  if (exitCode !== 0) throw new CniError(100, `nft: ${stderr.trim().split('\n')[0]}`)
}

/** What the node itself sends to its own loopback address may leave it for a container. */
async function allowLocalSource({ seams }: CniRequest, result: CniResult): Promise<void> {
  for (const { name, sandbox } of result.interfaces) {
    if (sandbox) continue
    const path = `/proc/sys/net/ipv4/conf/${name}/route_localnet`
    if ((await seams.files.readTextIfPresent(path))?.trim() === '0') await seams.files.append(path, '1')
  }
}
