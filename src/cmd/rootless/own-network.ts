/** In the user namespace of a cluster: its network, and the process that holds both when no agent runs. */
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { networkNamespaces } from '#base/network-namespaces.ts'
import { nodeProcesses } from '#base/processes.ts'
import { livingHolder, noteHolder, rootlessDirectory, rootlessResolvConf } from '#cmd/rootless/namespace-record.ts'
import { readNameServers } from '#dns/upstream/read-name-servers.ts'
import { enterOf, enterUserlandNetwork, type UserlandNetwork, userlandNameServer } from '#network/userland/userland-network.ts'
import { holderScript } from '#runtime/launch/holder-script.ts'
import { Launcher } from '#runtime/launch/launcher.ts'

const machineResolvConf = '/etc/resolv.conf'

export async function enterOwnNetwork(dataDir: string, { files, logger }: { files: Files; logger: Logger }): Promise<UserlandNetwork> {
  // Also starts the threads that look up names, in the machine's network as long as we are in it.
  const holder = await livingHolder(dataDir, files)
  const nameServers = await readNameServers(machineResolvConf, files).then(
    (servers) => servers.map(({ host }) => host),
    () => [],
  )
  const network = await enterUserlandNetwork({ of: holder, nameServers, pid: thisProcess.pid }, { processes: nodeProcesses, logger })
  await files.makeDirectory(rootlessDirectory(dataDir))
  await files.write(rootlessResolvConf(dataDir), await ownResolvConf(nameServers, files), { mode: 0o644 })
  if (holder === undefined) {
    using launcher = new Launcher()
    const script = holderScript(launcher.architecture)
    const { pid } = await launcher.launch({ script, name: 'typernetes: namespaces', streams: ['nothing', 'nothing', 'nothing'] })
    await noteHolder(dataDir, pid, files)
  }
  return network
}

/** For who takes down what runs there. */
export async function enterNetworkOfHolder(dataDir: string, files: Files): Promise<void> {
  const holder = await livingHolder(dataDir, files)
  if (holder !== undefined) enterOf(holder)
  // What was there is gone; the machine's own is none of our business.
  else networkNamespaces.enterNew()
}

/** As the machine's, but for the servers. */
async function ownResolvConf(nameServers: readonly string[], files: Files): Promise<string> {
  const text = (await files.readTextIfPresent(machineResolvConf).catch(() => undefined)) ?? ''
  const rest = text.split('\n').filter((line) => /^(search|options|domain)\s/.test(line))
  return `${[...(nameServers.length > 0 ? [`nameserver ${userlandNameServer}`] : []), ...rest].join('\n')}\n`
}
