/** The pod network of one node: a bridge of its own, laid down where no other network is configured. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'

export type BridgeNetwork = {
  name: string
  /** The interface on the node; at most 15 characters, and another one for each cluster on a machine. */
  bridge: string
  /** The node's ranges of addresses, one for each family. */
  podCidrs: readonly string[]
  /** Where given out addresses are written down. */
  dataDirectory: string
}

const fileName = '10-typernetes.conflist'
/** What runtimes read as configuration of a network. */
const isConfiguration = (name: string): boolean => /\.(conf|conflist|json)$/.test(name)

type Seams = { files: Files; processes: Processes }

/** In the words of CNI: a bridge, addresses from a file, ports of the node handed on to pods. */
export function bridgeConfiguration({ name, bridge, podCidrs, dataDirectory }: BridgeNetwork, masqueradesEachPod = false): object {
  const routes = podCidrs.map((cidr) => ({ dst: cidr.includes(':') ? '::/0' : '0.0.0.0/0' }))
  return {
    cniVersion: '1.0.0',
    name,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipMasq: masqueradesEachPod,
        hairpinMode: true,
        ipam: { type: 'host-local', ranges: podCidrs.map((subnet) => [{ subnet }]), routes, dataDir: dataDirectory },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  }
}

/** Resolves false where another network is configured already, and leaves that one alone. */
export async function layBridgeNetwork(network: BridgeNetwork, configDirectory: string, { files, processes }: Seams): Promise<boolean> {
  await files.makeDirectory(configDirectory, { mode: 0o755 })
  const others = (await files.list(configDirectory)).filter((name) => isConfiguration(name) && name !== fileName)
  if (others.length > 0) return false
  const path = join(configDirectory, fileName)
  const hasMasquerade = await masquerade(network, processes)
  const text = `${JSON.stringify(bridgeConfiguration(network, !hasMasquerade), null, 2)}\n`
  if ((await files.readTextIfPresent(path)) !== text) await files.write(path, text, { mode: 0o644 })
  return true
}

/** For when no pod is left in it. */
export async function removeBridgeNetwork(
  network: Pick<BridgeNetwork, 'bridge' | 'dataDirectory'>,
  configDirectory: string,
  { files, processes }: Seams,
): Promise<void> {
  const path = join(configDirectory, fileName)
  const text = (await files.readTextIfPresent(path)) ?? ''
  const podCidrs = [...text.matchAll(/"subnet": "([^"]+)"/g)].map(([, cidr = '']) => cidr)
  for (const { program, rule } of masqueradeRules({ ...network, podCidrs })) await iptables(processes, program, '-D', rule)
  await files.remove(path)
  // It is gone already, or was never made, when no pod had a network of its own.
  await processes.run('ip', ['link', 'delete', network.bridge])
  await files.remove(network.dataDirectory)
}

/**
 * What leaves the node from a pod is to come back to the node. One rule for all pods: the plugin's own, one chain for each pod,
 * take a fifth of the time that a pod needs to start. Resolves false where the rule could not be made.
 */
async function masquerade(network: BridgeNetwork, processes: Processes): Promise<boolean> {
  for (const { program, rule } of masqueradeRules(network)) {
    if (await iptables(processes, program, '-C', rule)) continue
    if (!(await iptables(processes, program, '-A', rule))) return false
  }
  return true
}

function masqueradeRules({ bridge, podCidrs }: Pick<BridgeNetwork, 'bridge' | 'podCidrs'>): { program: string; rule: string[] }[] {
  return podCidrs.map((cidr) => ({
    program: cidr.includes(':') ? 'ip6tables' : 'iptables',
    rule: ['POSTROUTING', '-s', cidr, '!', '-d', cidr, '-m', 'comment', '--comment', `pods of ${bridge}`, '-j', 'MASQUERADE'],
  }))
}

async function iptables(processes: Processes, program: string, action: '-A' | '-C' | '-D', rule: string[]): Promise<boolean> {
  try {
    return (await processes.run(program, ['-w', '-t', 'nat', action, ...rule])).exitCode === 0
  } catch {
    // There is no such program.
    return false
  }
}

/** An interface's name that clusters in other directories do not have. */
export const bridgeNameOf = (dataDirectory: string): string => `tn-${hashOf(dataDirectory)}`

/** Eight digits that stand for a cluster in names that the kernel keeps short. */
export function hashOf(dataDirectory: string): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(dataDirectory)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash.toString(16).padStart(8, '0')
}
