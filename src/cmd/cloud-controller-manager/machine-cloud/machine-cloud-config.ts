/** What the file of `--cloud-config` says, where this machine is the cloud. */
import { type AddressPool, parsePool } from '#controllers/service-load-balancer/address-pools.ts'

export type MachineCloudConfig = {
  /** The data directory of the cluster whose nodes are the machines. */
  dataDir: string
  region: string
  zone: string
  instanceType: string
  /** Where one machine differs from the others. */
  machines: Readonly<Record<string, { zone?: string; instanceType?: string; labels?: Readonly<Record<string, string>> }>>
  /** Addresses of load balancers; none: the cloud has no load balancers. */
  loadBalancerPools: readonly AddressPool[]
}

const known = ['dataDir', 'region', 'zone', 'instanceType', 'machines', 'loadBalancerPools']

export function parseMachineCloudConfig(settings: Readonly<Record<string, unknown>>, defaultDataDir: string): MachineCloudConfig {
  const unknown = Object.keys(settings).find((key) => !known.includes(key))
  if (unknown !== undefined) throw new Error(`--cloud-config: unknown setting ${unknown}; known are ${known.join(', ')}`)
  const textAt = (key: string, otherwise: string): string => {
    const value = settings[key] ?? otherwise
    if (typeof value !== 'string') throw new Error(`--cloud-config: ${key} must be a string`)
    return value
  }
  const pools = settings['loadBalancerPools'] ?? []
  if (!Array.isArray(pools)) throw new Error('--cloud-config: loadBalancerPools must be a list')
  const machines = settings['machines'] ?? {}
  if (typeof machines !== 'object' || machines === null || Array.isArray(machines))
    throw new Error('--cloud-config: machines must be a map of names to settings')
  return {
    dataDir: textAt('dataDir', defaultDataDir),
    region: textAt('region', 'local'),
    zone: textAt('zone', 'local-a'),
    instanceType: textAt('instanceType', 'namespace'),
    machines: machines as MachineCloudConfig['machines'],
    loadBalancerPools: pools.map((pool) => parsePool(String(pool))),
  }
}
