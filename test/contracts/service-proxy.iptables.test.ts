import { IptablesBackend } from '#proxy/iptables/iptables-backend.ts'
import type { IptablesVariant } from '#proxy/iptables/iptables-program.ts'
import { kernelAbilities, kernelHarness, ruleSettings } from '../support/kernel-proxy.ts'
import { whyNoNetworkWorld } from '../support/network-world.ts'
import { serviceProxyContract } from './service-proxy.ts'

for (const variant of ['-nft', '-legacy'] satisfies IptablesVariant[]) {
  serviceProxyContract(`iptables${variant}`, {
    skip: whyNoNetworkWorld(`iptables${variant}`, 'conntrack'),
    abilities: kernelAbilities,
    start: (world) => kernelHarness(world, () => new IptablesBackend({ processes: world.processes, settings: ruleSettings, variant })),
  })
}
