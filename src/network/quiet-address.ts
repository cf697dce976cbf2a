/**
 * An address of the machine where nobody is told that nobody listens. Who asks a name server while it is started again would give up at
 * once, told so by the kernel; told nothing, it asks again after a while, and is answered.
 */
import type { Processes } from '#base/processes.ts'
import { hashOf } from '#network/bridge-network.ts'
import { type NftProgram, nftProgram } from '#wire/nftables/nft-program.ts'

const tableOf = (dataDirectory: string): string => `kube-dns-${hashOf(dataDirectory)}`

/** Does nothing where the machine has no nftables: questions then fail while no server runs. */
export async function layQuietAddress(dataDirectory: string, addresses: readonly string[], processes: Processes): Promise<void> {
  const table = `inet ${tableOf(dataDirectory)}`
  const rules = addresses.map((address) =>
    address.includes(':')
      ? `ip6 saddr ${address} icmpv6 type destination-unreachable icmpv6 code port-unreachable drop`
      : `ip saddr ${address} icmp type destination-unreachable icmp code port-unreachable drop`,
  )
  const chain = ['type filter hook output priority 0; policy accept;', ...rules].join('\n')
  await withNft(processes, (nft) =>
    nft.apply(`add table ${table}\ndelete table ${table}\ntable ${table} {\nchain output {\n${chain}\n}\n}\n`),
  )
}

export async function removeQuietAddress(dataDirectory: string, processes: Processes): Promise<void> {
  await withNft(processes, (nft) => nft.deleteTable('inet', tableOf(dataDirectory)))
}

async function withNft(processes: Processes, work: (nft: NftProgram) => Promise<void>): Promise<void> {
  const nft = nftProgram(processes)
  try {
    await work(nft)
  } catch {
    // There is no such program, or we may not use it.
  } finally {
    nft.close()
  }
}
