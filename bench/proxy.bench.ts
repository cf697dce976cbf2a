/** Rules for services: the first of all, one change among many, and what they cost a connection. In network namespaces of their own. */
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import { IptablesBackend } from '#proxy/iptables/iptables-backend.ts'
import type { IptablesVariant } from '#proxy/iptables/iptables-program.ts'
import { NftablesBackend } from '#proxy/nftables/nftables-backend.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'
import type { Bench } from '../scripts/bench.ts'
import { ruleSettings } from '../test/support/kernel-proxy.ts'
import { NetworkWorld, whyNoNetworkWorld } from '../test/support/network-world.ts'

const endpointsEach = 10
const rounds = 21

export default async function run(bench: Bench): Promise<void> {
  const why = whyNoNetworkWorld('nft', 'iptables', 'nsenter')
  if (why) {
    console.error(`skipped: ${why}`)
    return
  }
  await using world = await NetworkWorld.start({ pods: ['a', 'b'] })
  const inside = ['nsenter', `--net=/run/netns/${world.namespace('node')}`] as const
  const nftables = () =>
    new NftablesBackend({ nft: nftProgram(nodeProcesses, [...inside, 'nft']), settings: ruleSettings, families: ['IPv4'] })
  const iptables = (variant: IptablesVariant) =>
    new IptablesBackend({ processes: world.processes, settings: ruleSettings, variant, families: ['IPv4'] })

  for (const count of [100, 1000, 10_000]) {
    const backend = nftables()
    const { first, change } = await measured(backend, count)
    const limit = count === 1000 ? { comparedWith: '1,000 ms', ratio: first / 1000 } : {}
    bench.report({ case: `nftables: first sync of ${text(count)} services x ${endpointsEach}`, figure: first, unit: 'ms', ...limit })
    bench.report({
      case: `nftables: one endpoint among ${text(count)} services`,
      figure: change,
      unit: 'ms',
      comparedWith: '20 ms',
      ratio: change / 20,
    })
    if (count === 1000) await connections(bench, world)
    await backend.cleanUp()
    await backend.stop()
  }
  for (const variant of ['-nft', '-legacy'] as const) {
    const backend = iptables(variant)
    const { first, change } = await measured(backend, 1000)
    bench.report({ case: `iptables${variant}: first sync of 1,000 services x ${endpointsEach}`, figure: first, unit: 'ms' })
    bench.report({ case: `iptables${variant}: one endpoint among 1,000 services`, figure: change, unit: 'ms' })
    await backend.cleanUp()
  }
}

const text = (count: number): string => count.toLocaleString('en')
const median = (values: number[]): number => values.sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

async function measured(backend: ProxyBackend, count: number): Promise<{ first: number; change: number }> {
  const table = new ServiceTable({ name: 'n1', zone: '' })
  const begin = performance.now()
  for (let number = 0; number < count; number++) {
    table.setService(aService(number))
    table.setSlice(aSlice(number, endpointsEach))
  }
  await backend.sync(table, table.takeChanged(), true)
  const first = performance.now() - begin
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const since = performance.now()
    table.setSlice(aSlice((round * 7) % count, endpointsEach - 1 + (round % 2)))
    await backend.sync(table, table.takeChanged(), false)
    times.push(performance.now() - since)
  }
  return { first, change: median(times) }
}

function aService(number: number): V1Service {
  const clusterIP = `10.96.${Math.floor(number / 250)}.${(number % 250) + 1}`
  return {
    metadata: { namespace: 'default', name: `s${number}` },
    spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, protocol: 'TCP' }] },
  }
}

/** The first service leads to the pod of the bench alone. */
function aSlice(number: number, count: number): V1EndpointSlice {
  const endpoints = Array.from({ length: count }, (_, index) => {
    const place = number * endpointsEach + index
    return { addresses: [`10.${245 + Math.floor(place / 62_500)}.${Math.floor(place / 250) % 250}.${(place % 250) + 1}`], nodeName: 'n2' }
  })
  return {
    metadata: { namespace: 'default', name: `s${number}-1`, labels: { 'kubernetes.io/service-name': `s${number}` } },
    ...{ addressType: 'IPv4', ports: [{ name: '', port: 8080, protocol: 'TCP' }] },
    endpoints,
  }
}

/** Direct and through a service in turns, so that what else the machine does falls on both. */
async function connections(bench: Bench, world: NetworkWorld): Promise<void> {
  await world.tell('b', { op: 'listen', protocol: 'TCP', port: 8080 })
  const table = new ServiceTable({ name: 'n1', zone: '' })
  const backend = new NftablesBackend({
    ...{ nft: nftProgram(nodeProcesses, ['nsenter', `--net=/run/netns/${world.namespace('node')}`, 'nft']), settings: ruleSettings },
    families: ['IPv4'],
  })
  for (let number = 0; number < 1000; number++) {
    table.setService(aService(number))
    const slice = aSlice(number, endpointsEach)
    table.setSlice(number === 0 ? { ...slice, endpoints: [{ addresses: [world.podIp('b')], nodeName: 'n1' }] } : slice)
  }
  await backend.sync(table, table.takeChanged(), true)
  const rate = async (host: string, port: number): Promise<number> => {
    const count = 4000
    const begin = performance.now()
    await world.tell('a', { op: 'askMany', host, port, count, atOnce: 8, timeoutMs: 20_000 })
    return count / ((performance.now() - begin) / 1000)
  }
  await rate(world.podIp('b'), 8080)
  const [direct, through]: [number[], number[]] = [[], []]
  for (let round = 0; round < 7; round++) {
    direct.push(await rate(world.podIp('b'), 8080))
    through.push(await rate('10.96.0.1', 80))
  }
  const [straight, led] = [median(direct), median(through)]
  bench.report({
    ...{ case: 'connections through a cluster address, 1,000 services', figure: led, unit: '/s' },
    ...{ comparedWith: `${Math.round(straight).toLocaleString('en')}/s direct`, ratio: led / straight },
  })
}
