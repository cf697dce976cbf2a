/** A proxy's configuration file. */
import { defaultProxyConfiguration, type ProxyConfiguration, unheededFields } from '#proxy/configuration/proxy-configuration.ts'

const apiVersion = 'kubeproxy.config.k8s.io/v1alpha1'

type ReadConfiguration = {
  configuration: ProxyConfiguration
  /** Fields of the file that change nothing. */
  unheeded: string[]
}

/** YAML or JSON. Throws with what is wrong, and where. */
export async function readProxyConfiguration(text: string, path: string): Promise<ReadConfiguration> {
  const { load } = await import('js-yaml')
  const document = load(text)
  if (!isMap(document)) throw new Error(`${path}: the document is not a map`)
  const { kind, apiVersion: version, ...given } = document
  if (kind !== 'KubeProxyConfiguration' || version !== apiVersion) {
    throw new Error(`${path}: expected KubeProxyConfiguration of ${apiVersion}, found ${kind} of ${version}`)
  }
  const unheeded = Object.keys(given).filter((field) => unheededFields.includes(field))
  const heeded = Object.fromEntries(Object.entries(given).filter(([field]) => !unheeded.includes(field)))
  const configuration = merged(defaultProxyConfiguration(), heeded, path, '') as ProxyConfiguration
  checkConfiguration(configuration, path)
  return { configuration, unheeded }
}

function merged(defaults: object, given: Record<string, unknown>, path: string, at: string): object {
  const result: Record<string, unknown> = { ...defaults }
  for (const [field, value] of Object.entries(given)) {
    const place = at === '' ? field : `${at}.${field}`
    const standard = result[field]
    if (standard === undefined) throw new Error(`${path}: unknown field "${place}"`)
    if (value === null || value === undefined) continue
    if (kindOf(value) !== kindOf(standard)) throw new Error(`${path}: ${place} is not a ${kindOf(standard)}`)
    result[field] = isMap(value) && isMap(standard) ? merged(standard, value, path, place) : value
  }
  return result
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

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  return isMap(value) ? 'map' : typeof value
}

const isMap = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value)
