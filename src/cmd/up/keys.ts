import { join } from 'node:path'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { clusterIdentities } from '#apiserver/pki/identities.ts'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { thisMachine } from '#base/machine.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { ClusterAddresses } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'

/** The certificates of a cluster, made at its first start and renewed while it runs. */
export async function openClusterKeys(
  { dataDir }: UpOptions,
  { serviceIp, own }: ClusterAddresses,
  { files, clock, random, logger }: ClusterSeams,
): Promise<ClusterKeys> {
  const directory = await openKeyDirectory(files, join(dataDir, 'pki'))
  const identities = clusterIdentities({
    hostName: thisMachine().hostname,
    serviceIp,
    clusterDomain: 'cluster.local',
    addresses: [...own],
  })
  return ClusterKeys.open({ directory, clock, random, log: logger }, identities)
}
