/** Calico's objects, where the network of pods is Calico's: their definitions, the pools that are there from the start, and who may read them. */
import { ClusterRole, ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Client } from '#client/client.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { calicoResources, IPPool } from '#network/calico/definitions.ts'
import type { IpipMode } from '#network/pod-network/ipip.ts'

export type CalicoWish = { clusterCidrs: readonly string[]; ipipMode: IpipMode }

const role = 'typernetes:calico'
const blockSizes = { IPv4: 26, IPv6: 122 }

/** Resolves when the objects are served. Pools that are there stay as they are. */
export async function startCalico(stage: Stage, apiServer: RunningApiServer, wish: CalicoWish, { clock }: ClusterSeams): Promise<void> {
  const client = clientInProcess(apiServer, 'typernetes:calico', ['system:masters'])
  await installDefinitions(client, calicoResources, { clock, signal: stage.signal })
  await grantReading(client)
  if ((await client.list(IPPool)).items.length > 0) return
  for (const cidr of wish.clusterCidrs) {
    const family = cidr.includes(':') ? 'IPv6' : 'IPv4'
    const spec = {
      ...{ cidr, blockSize: blockSizes[family], natOutgoing: true, nodeSelector: 'all()', vxlanMode: 'Never' as const },
      ...{ ipipMode: family === 'IPv4' ? wish.ipipMode : ('Never' as const), disabled: false, disableBGPExport: false },
    }
    await client.create(IPPool, { metadata: { name: `default-${family.toLowerCase()}-ippool` }, spec })
  }
}

/** Agents on nodes act on them. */
async function grantReading(client: Client): Promise<void> {
  const how = { fieldManager: 'typernetes', force: true }
  const metadata = { name: role }
  const resources = calicoResources.map(({ plural }) => plural)
  const rules = [{ apiGroups: ['projectcalico.org'], resources, verbs: ['get', 'list', 'watch'] }]
  await client.apply(ClusterRole, { metadata, rules }, how)
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role }
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-proxy' }]
  await client.apply(ClusterRoleBinding, { metadata, roleRef, subjects }, how)
}
