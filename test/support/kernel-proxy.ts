/** A mode of the proxy that works by rules in the kernel, driven by a test. */
import { systemClock } from '#base/clock.ts'
import { atOnce } from '#base/steps.ts'
import type { ProxyBackend } from '#proxy/backend.ts'
import { conntrackProgram } from '#proxy/conntrack/conntrack-program.ts'
import { staleFlows, withoutClients } from '#proxy/conntrack/stale-flows.ts'
import { defaultRuleSettings, type RuleSettings } from '#proxy/rules/rule-settings.ts'
import { ServiceTable } from '#proxy/service-table/service-table.ts'
import type { Abilities, Harness } from '../contracts/service-proxy.ts'
import type { NetworkWorld } from './network-world.ts'

export const kernelAbilities: Abilities = { keepsSource: true, hasSourceRanges: true, hasIpv6: true, outlivesRestart: true }

export const ruleSettings: RuleSettings = {
  ...defaultRuleSettings,
  podTraffic: { kind: 'cidr', cidrs: ['10.244.0.0/16', 'fd44::/16'] },
  nodeIps: ['192.0.2.1', '2001:db8::1'],
}

export async function kernelHarness(world: NetworkWorld, makeBackend: () => ProxyBackend): Promise<Harness> {
  const table = new ServiceTable({ name: 'n1', zone: '' })
  const conntrack = conntrackProgram(world.processes, systemClock)
  let backend = makeBackend()
  const sync = async (isFull = false) => {
    await backend.sync(table, table.takeChanged(), isFull)
    const stale = atOnce(staleFlows(await conntrack.list('IPv4'), table, 'IPv4'))
    for (const flow of withoutClients(stale)) await conntrack.delete('IPv4', flow)
  }
  await sync(true)
  return {
    async set(service, slices) {
      table.setService(service)
      for (const slice of slices) table.setSlice(slice)
      await sync()
    },
    async remove(service) {
      table.deleteService(service)
      await sync()
    },
    async restart() {
      await backend.stop()
      backend = makeBackend()
      await sync(true)
    },
    async [Symbol.asyncDispose]() {
      await backend.cleanUp()
      await backend.stop()
    },
  }
}
