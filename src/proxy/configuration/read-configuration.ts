/** A proxy's configuration file. */
import { readComponentConfiguration } from '#client/component-configuration.ts'
import { defaultProxyConfiguration, ignoredFields, type ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'

type ReadConfiguration = {
  configuration: ProxyConfiguration
  /** Fields of the file that change nothing. */
  ignored: string[]
}

/** YAML or JSON. Throws with what is wrong, and where. */
export async function readProxyConfiguration(text: string, path: string): Promise<ReadConfiguration> {
  const read = await readComponentConfiguration(text, path, {
    ...{ kind: 'KubeProxyConfiguration', apiVersion: 'kubeproxy.config.k8s.io/v1alpha1' },
    ...{ defaults: defaultProxyConfiguration(), ignoredFields },
  })
  checkConfiguration(read.configuration, path)
  return read
}

const modes = ['', 'nftables', 'iptables', 'ipvs', 'userspace']
const localModes = ['', 'ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix']

/** `source`: the file, or the flags. */
export function checkConfiguration(configuration: ProxyConfiguration, source: string): void {
  const { mode, detectLocalMode, detectLocal, clusterCIDR } = configuration
  if (!modes.includes(mode)) throw new Error(`${source}: mode must be one of ${modes.slice(1).join(', ')}, not ${mode}`)
  if (!localModes.includes(detectLocalMode)) {
    throw new Error(`${source}: detectLocalMode must be one of ${localModes.slice(1).join(', ')}, not ${detectLocalMode}`)
  }
  for (const field of ['iptables', 'nftables'] as const) {
    const { masqueradeBit } = configuration[field]
    if (!(masqueradeBit >= 0 && masqueradeBit <= 31)) throw new Error(`${source}: ${field}.masqueradeBit must be within the range [0, 31]`)
  }
  if (detectLocalMode === 'BridgeInterface' && detectLocal.bridgeInterface === '') {
    throw new Error(`${source}: detectLocal.bridgeInterface must be set for detectLocalMode BridgeInterface`)
  }
  if (detectLocalMode === 'InterfaceNamePrefix' && detectLocal.interfaceNamePrefix === '') {
    throw new Error(`${source}: detectLocal.interfaceNamePrefix must be set for detectLocalMode InterfaceNamePrefix`)
  }
  if (clusterCIDR.split(',').length > 2) throw new Error(`${source}: clusterCIDR may have one range of each family at most`)
}
