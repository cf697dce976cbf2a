/** Addresses that only this node has, for a name server that its pods reach without a way around: as NodeLocal DNSCache lays them. */
import type { Processes } from '#base/processes.ts'
import { ipTool, type Link } from '#network/kernel/ip-tool.ts'

export async function addNodeAddresses(name: string, addresses: readonly string[], processes: Processes): Promise<void> {
  const ip = ipTool(processes)
  const links = await ip.show<Link>('address', 'show')
  const link = links.find(({ ifname }) => ifname === name)
  const present = new Set(link?.addr_info?.map(({ local }) => local))
  if (link === undefined) {
    // Kernels without dummy links have bridges, which do as well without anything plugged in.
    await ip.change([`link add ${name} type dummy`]).catch(() => ip.change([`link add ${name} type bridge`]))
  }
  await ip.change([
    ...addresses
      .filter((address) => !present.has(address))
      .map((address) => `address add ${address}/${address.includes(':') ? 128 : 32} dev ${name}`),
    ...(link?.flags.includes('UP') ? [] : [`link set ${name} up`]),
  ])
}

export async function removeNodeAddresses(name: string, processes: Processes): Promise<void> {
  await ipTool(processes).try([`link delete ${name}`])
}
