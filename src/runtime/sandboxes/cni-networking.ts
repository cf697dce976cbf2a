/** Pods' networks by CNI: the first configuration of a directory counts, its plugins are programs or functions of this process. */

import { join } from 'node:path'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import type { NetworkedPod, PodNetworking } from '#runtime/sandboxes/pod-networking.ts'
import { protocols } from '#wire/cri/cri-types.ts'

export type CniNetworkingOptions = {
  configDirectory: string
  binDirectory: string
  files: Files
  processes: Processes
  /** Plugins that need no program, by type: called as one would be. */
  ownPlugins?: Readonly<Record<string, InProcessPlugin>>
}

export type InProcessPlugin = (environment: Record<string, string>, input: string) => Promise<{ exitCode: number; output: string }>

type Plugin = { type: string; capabilities?: Record<string, boolean>; [key: string]: unknown }
type Network = { cniVersion: string; name: string; plugins: Plugin[] }
type Result = { ips?: { address: string }[] }

const interfaceName = 'eth0'
const notThere = 'cni plugin not initialized'

export class CniNetworking implements PodNetworking {
  readonly #options: CniNetworkingOptions

  constructor(options: CniNetworkingOptions) {
    this.#options = options
  }

  async problem(): Promise<string | undefined> {
    return (await this.#network()) === undefined ? notThere : undefined
  }

  async attach(pod: NetworkedPod): Promise<string[]> {
    const network = await this.#network()
    if (network === undefined) throw new Error(notThere)
    let result: Result | undefined
    try {
      for (const plugin of network.plugins) result = await this.#run('ADD', network, plugin, pod, result)
    } catch (error) {
      // Why the network could not be set up is thrown below.
      await this.detach(pod).catch(() => {})
      throw new Error(`failed to setup network for sandbox "${pod.id}": ${errorMessage(error)}`, { cause: error })
    }
    return (result?.ips ?? []).map(({ address }) => address.split('/')[0] ?? '')
  }

  async detach(pod: NetworkedPod): Promise<void> {
    const network = await this.#network()
    for (const plugin of network?.plugins.toReversed() ?? []) await this.#run('DEL', network as Network, plugin, pod, undefined)
  }

  async #network(): Promise<Network | undefined> {
    const { files, configDirectory } = this.#options
    for (const name of await files.list(configDirectory)) {
      if (!/\.(conf|conflist|json)$/.test(name)) continue
      try {
        const read = JSON.parse(await files.readText(join(configDirectory, name))) as Partial<Network> & Plugin
        const { cniVersion = '0.3.1', name: network = '' } = read
        return { cniVersion, name: network, plugins: read.plugins ?? [read] }
      } catch {
        // As other runtimes do: one that cannot be read is none.
      }
    }
    return undefined
  }

  async #run(command: string, network: Network, plugin: Plugin, pod: NetworkedPod, before: Result | undefined): Promise<Result> {
    const { binDirectory, ownPlugins = {}, processes } = this.#options
    const { name = '', namespace = '', uid = '' } = pod.config.metadata
    const environment = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: pod.id,
      CNI_NETNS: pod.namespacePath,
      CNI_IFNAME: interfaceName,
      CNI_PATH: binDirectory,
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${name};K8S_POD_INFRA_CONTAINER_ID=${pod.id};K8S_POD_UID=${uid}`,
    }
    const { cniVersion, name: networkName } = network
    const conf = {
      ...plugin,
      cniVersion,
      name: networkName,
      ...runtimeConfig(plugin, pod),
      ...defined({ prevResult: before }),
    }
    const own = ownPlugins[plugin.type]
    const input = JSON.stringify(conf)
    const { exitCode, output } =
      own === undefined ? await asProgram(processes, join(binDirectory, plugin.type), environment, input) : await own(environment, input)
    if (exitCode !== 0) throw new Error(`plugin type="${plugin.type}" failed (${command.toLowerCase()}): ${failureOf(output)}`)
    return output.trim() === '' ? {} : (JSON.parse(output) as Result)
  }
}

async function asProgram(processes: Processes, program: string, environment: Record<string, string>, input: string) {
  const { exitCode, stdout, stderr } = await processes.run(program, [], { environment, input })
  return { exitCode, output: stdout || stderr }
}

function failureOf(output: string): string {
  try {
    const { msg = '', details = '' } = JSON.parse(output) as { msg?: string; details?: string }
    return [msg, details].filter(Boolean).join(': ') || output.trim()
  } catch {
    return output.trim()
  }
}

function runtimeConfig({ capabilities = {} }: Plugin, { config }: NetworkedPod): { runtimeConfig?: object } {
  const names: Record<number, string> = { [protocols.TCP]: 'tcp', [protocols.UDP]: 'udp', [protocols.SCTP]: 'sctp' }
  const portMappings = (config.portMappings ?? [])
    .filter(({ hostPort }) => hostPort > 0)
    .map(({ hostPort, containerPort, protocol, hostIp = '' }) => ({
      hostPort,
      containerPort,
      protocol: names[protocol] ?? 'tcp',
      hostIP: hostIp,
    }))
  const bandwidth = bandwidthOf(config.annotations ?? {})
  return {
    runtimeConfig: {
      ...defined({
        portMappings: capabilities['portMappings'] && portMappings.length > 0 ? portMappings : undefined,
        bandwidth: capabilities['bandwidth'] && bandwidth !== undefined ? bandwidth : undefined,
        [podAnnotations]: capabilities[podAnnotations] ? (config.annotations ?? {}) : undefined,
      }),
    },
  }
}

/** Plugins that ask for it see what is written on a pod, as with other runtimes. */
const podAnnotations = 'io.kubernetes.cri.pod-annotations'

const units: Record<string, number> = { '': 1, k: 1e3, M: 1e6, G: 1e9, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 }

function bandwidthOf(annotations: Record<string, string>): Record<string, number> | undefined {
  const rate = (direction: string): number | undefined => {
    const found = /^(\d+(?:\.\d+)?)(k|M|G|Ki|Mi|Gi)?$/.exec(annotations[`kubernetes.io/${direction}-bandwidth`] ?? '')
    return found === null ? undefined : Number(found[1]) * (units[found[2] ?? ''] ?? 1)
  }
  const [ingress, egress] = [rate('ingress'), rate('egress')]
  if (ingress === undefined && egress === undefined) return undefined
  const burst = 2 ** 31 - 1
  return {
    ...(ingress === undefined ? {} : { ingressRate: ingress, ingressBurst: burst }),
    ...(egress === undefined ? {} : { egressRate: egress, egressBurst: burst }),
  }
}
