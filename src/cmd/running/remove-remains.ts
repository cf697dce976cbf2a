import { resolve } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeMounts } from '#base/mounts.ts'
import { nodeProcesses } from '#base/processes.ts'
import { endProcessesOf } from '#cmd/running/end-processes.ts'
import { podCgroupOf } from '#cmd/up/container-runtime.ts'
import { bridgeNameOf, hashOf } from '#network/bridge-network.ts'
import { nodeBridgeName } from '#network/clusters-on-machine.ts'
import { removeForwarding } from '#network/forwarding.ts'
import { ipTool, type Link } from '#network/kernel/ip-tool.ts'
import { removeMasquerade } from '#network/masquerade.ts'
import { removeQuietAddress } from '#network/quiet-address.ts'
import { nftProgram } from '#wire/nftables/nft-program.ts'

/** The data directory, and what the kernel still holds by names that stand for it: for those who have deleted some of the directory by hand. */
export async function removeRemains(dataDir: string): Promise<void> {
  const path = await nodeFiles.realPath(dataDir)
  const directories = [...new Set([resolve(dataDir), ...(path === undefined ? [] : [path])])]
  await endProcessesOf({ directories, podCgroup: podCgroupOf(dataDir) })
  for (const place of path === undefined ? [] : await nodeMounts.below(path)) await nodeMounts.unmount(place)
  const cgroups = await findCgroups(nodeFiles)
  await cgroups?.remove(podCgroupOf(dataDir))
  await removeFromKernel(dataDir).catch(() => {
    // Who may not change the network has not changed it before, either.
  })
  await nodeFiles.remove(dataDir)
}

async function removeFromKernel(dataDir: string): Promise<void> {
  const hash = hashOf(dataDir)
  const ip = ipTool(nodeProcesses)
  const links = await ip.show<Link>('link', 'show')
  const spaces = await ip.show<{ name: string }>('netns', 'list')
  const ours = (name: string) => name.split('-').includes(hash)
  await ip.try([
    ...links.filter(({ ifname }) => ours(ifname)).map(({ ifname }) => `link delete ${ifname}`),
    ...spaces.filter(({ name }) => ours(name)).map(({ name }) => `netns delete ${name}`),
  ])
  for (const comment of [`pods of ${bridgeNameOf(dataDir)}`, `nodes of ${nodeBridgeName(dataDir)}`]) {
    await removeMasquerade(comment, nodeProcesses)
    await removeForwarding(comment, nodeProcesses)
  }
  await removeQuietAddress(dataDir, nodeProcesses)
  const nft = nftProgram(nodeProcesses)
  for (const family of ['ip', 'ip6'] as const) await nft.deleteTable(family, `kube-proxy-${hash}`)
  await nft.deleteTable('inet', `kube-network-policy-${hash}`)
}
