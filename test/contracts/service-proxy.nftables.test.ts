import { nodeProcesses } from '#base/processes.ts'
import { NftablesBackend } from '#proxy/nftables/nftables-backend.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'
import { kernelAbilities, kernelHarness, ruleSettings } from '../support/kernel-proxy.ts'
import { whyNoNetworkWorld } from '../support/network-world.ts'
import { serviceProxyContract } from './service-proxy.ts'

serviceProxyContract('nftables', {
  skip: whyNoNetworkWorld('nft', 'conntrack'),
  abilities: kernelAbilities,
  start: (world) =>
    kernelHarness(
      world,
      () =>
        new NftablesBackend({
          nft: nftProgram(nodeProcesses, ['ip', 'netns', 'exec', world.namespace('node'), 'nft']),
          settings: ruleSettings,
        }),
    ),
})
