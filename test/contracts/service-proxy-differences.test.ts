/** Many changes, each applied as a difference to a real kernel, lead to the same table as a sync from nothing. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { nodeProcesses } from '#base/processes.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { NftablesBackend } from '#proxy/nftables/nftables-backend.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'
import { ruleSettings } from '../support/kernel-proxy.ts'
import { NetworkWorld, whyNoNetworkWorld } from '../support/network-world.ts'

const seeds = Number(process.env['PROXY_SEEDS'] ?? 3)
const steps = 40

test('differences lead where a sync from nothing leads', { skip: whyNoNetworkWorld('nft'), timeout: 600_000 }, async () => {
  await using world = await NetworkWorld.start({ pods: [] })
  const command = ['ip', 'netns', 'exec', world.namespace('node'), 'nft'] as const
  const nft = nftProgram(nodeProcesses, command)
  for (let seed = 1; seed <= seeds; seed++) {
    const random = seededRandom(seed)
    const table = new ServiceTable({ name: 'n1', zone: '' })
    const changing = new NftablesBackend({ nft, settings: ruleSettings })
    await changing.sync(table, table.takeChanged(), true)
    for (let step = 0; step < steps; step++) {
      const count = 1 + random.int(3)
      for (let each = 0; each < count; each++) change(table, random)
      await changing.sync(table, table.takeChanged(), false).catch((error: unknown) => {
        throw new Error(`seed ${seed}, step ${step}: ${error}`)
      })
    }
    const fresh = new NftablesBackend({ nft, settings: ruleSettings, tableName: 'fresh' })
    await fresh.sync(table, new Set(), true)
    for (const family of ['ip', 'ip6']) {
      const contents = (name: string) => {
        const { stdout } = spawnSync(command[0], [...command.slice(1), 'list', 'table', family, name], { encoding: 'utf8' })
        return normalized(stdout)
      }
      assert.deepEqual(contents('kube-proxy'), contents('fresh'), `seed ${seed}, ${family}`)
    }
    await fresh.cleanUp()
    await changing.cleanUp()
  }
  nft.close()
})

/** By chain or set, its lines, without the numbers that endpoints happen to have. */
function normalized(listing: string): Record<string, string[]> {
  const parts: Record<string, string[]> = {}
  const text = listing.replaceAll(/,\n\s+/g, ', ')
  let name = ''
  for (const line of text.split('\n').slice(1)) {
    name = /^\t(?:chain|set|map) (\S+)/.exec(line)?.[1] ?? name
    // Chains that choose among so many stay until the next full sync, for the next service that has as many.
    if (/^(external-|nodeport-)?pick-/.test(name)) continue
    const inner = /\{ (.*) \}/.exec(line)?.[1]
    const members = inner
      ?.split(', ')
      .map((member) => member.replace(/( \. |^)\d+ : /, ' : '))
      .sort()
      .join(', ')
    const body = inner === undefined ? line.trim() : line.replace(inner, members ?? '').trim()
    if (body === '' || body === '}') continue
    parts[name] = [...(parts[name] ?? []), body]
  }
  for (const lines of Object.values(parts)) lines.sort()
  return parts
}

function change(table: ServiceTable, random: Random): void {
  const number = random.int(6)
  const name = `s${number}`
  const labels = { 'kubernetes.io/service-name': name }
  const one = <T>(choices: readonly T[]): T => choices[random.int(choices.length)] as T
  const maybe = <T extends object>(value: T): T | Record<string, never> => (random.int(2) === 0 ? value : {})
  const slice = (six: boolean): V1EndpointSlice => ({
    metadata: { namespace: 'default', name: `${name}-${six ? 6 : 4}`, labels },
    ...{ addressType: six ? 'IPv6' : 'IPv4', ports: [{ name: '', port: 8080, protocol: 'TCP' }] },
    endpoints: Array.from({ length: random.int(5) }, () => ({
      addresses: [six ? `fd44::${1 + random.int(9)}` : `10.244.0.${1 + random.int(9)}`],
      nodeName: one(['n1', 'n2']),
      conditions: one([{ ready: true }, { ready: true }, { ready: false, serving: true, terminating: true }]),
    })),
  })
  switch (random.int(5)) {
    case 0:
      table.setSlice(slice(false))
      break
    case 1:
      table.setSlice(slice(true))
      break
    case 2:
      table.deleteService({ metadata: { namespace: 'default', name }, spec: {} })
      break
    default: {
      const type = one(['ClusterIP', 'NodePort', 'LoadBalancer'])
      const service: V1Service = {
        metadata: { namespace: 'default', name },
        spec: {
          ...{ type, clusterIP: `10.96.0.${number + 1}`, clusterIPs: [`10.96.0.${number + 1}`, `fd96::${number + 1}`] },
          ports: [{ port: one([80, 81]), ...(type === 'ClusterIP' ? {} : { nodePort: 30_000 + number }) }],
          ...maybe({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: one([10, 20]) } } }),
          ...maybe({ internalTrafficPolicy: 'Local' }),
          ...maybe({ externalTrafficPolicy: 'Local' }),
          // The same address for several services: the first has it.
          ...maybe({ externalIPs: [one(['203.0.113.1', '203.0.113.2'])] }),
          ...maybe({ loadBalancerSourceRanges: [one(['10.0.0.0/8', '192.0.2.0/24']), '192.0.2.0/25'] }),
        },
        status: { loadBalancer: { ingress: [{ ip: `198.51.100.${number}` }] } },
      }
      table.setService(service)
    }
  }
}
