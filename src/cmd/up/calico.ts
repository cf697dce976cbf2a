/** Calico's objects, where the network of pods is Calico's: their definitions, the pools that are there from the start, and who may read them. */
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { SyncLoop } from '#base/sync-loop.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { secretsNamespace } from '#network/calico/calico-source.ts'
import { collectBlocks } from '#network/calico/collect-blocks.ts'
import { BGPPeer, calicoResources, IPAMBlock, IPPool, mirroredKinds, StoredIPPool } from '#network/calico/definitions.ts'
import { mirrorGroups } from '#network/calico/mirror-groups.ts'
import type { IpipMode } from '#network/pod-network/ipip.ts'

export type CalicoOptions = { clusterCidrs: readonly string[]; ipipMode: IpipMode }

const role = 'typernetes:calico'
const blocksRole = 'typernetes:calico-blocks'
const apiGroup = 'rbac.authorization.k8s.io'
const reader = { apiGroup, kind: 'User', name: 'system:kube-proxy' }
const blockSizes = { IPv4: 26, IPv6: 122 }

/** Resolves when the objects are served. Pools that are there stay as they are. */
export async function startCalico(stage: Stage, apiServer: RunningApiServer, options: CalicoOptions, seams: ClusterSeams): Promise<void> {
  const { clock, random } = seams
  const logger = seams.logger.with({ component: 'calico' })
  const client = clientInProcess(apiServer, 'typernetes:calico', ['system:masters'])
  await installDefinitions(client, calicoResources, { clock, signal: stage.signal })
  await grantReading(client)
  const collecting = collectBlocks({ client, clock, random, logger })
  stage.defer(() => collecting.stop())
  followPasswords(stage, client, { clock, random, logger })
  const mirror = mirrorGroups({ pairs: mirroredKinds, client, clock, random, logger })
  stage.defer(() => mirror.stop())
  if ((await client.list(IPPool)).items.length + (await client.list(StoredIPPool)).items.length > 0) return
  for (const cidr of options.clusterCidrs) {
    const family = cidr.includes(':') ? 'IPv6' : 'IPv4'
    const spec = {
      ...{ cidr, blockSize: blockSizes[family], natOutgoing: true, nodeSelector: 'all()', vxlanMode: 'Never' as const },
      ...{ ipipMode: family === 'IPv4' ? options.ipipMode : ('Never' as const), disabled: false, disableBGPExport: false },
    }
    await client.create(IPPool, { metadata: { name: `default-${family.toLowerCase()}-ippool` }, spec })
  }
}

/** Agents on nodes act on them. */
async function grantReading(client: Client): Promise<void> {
  const how = { fieldManager: 'typernetes', force: true }
  const metadata = { name: role }
  const resources = [...new Set(calicoResources.map(({ plural }) => plural))]
  const apiGroups = [...new Set(calicoResources.map(({ group }) => group))]
  const rules = [
    { apiGroups, resources, verbs: ['get', 'list', 'watch'] },
    // Policies go by the labels of service accounts, and by the endpoints of services.
    { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get', 'list', 'watch'] },
  ]
  await client.apply(ClusterRole, { metadata, rules }, how)
  const roleRef = { apiGroup, kind: 'ClusterRole', name: role }
  await client.apply(ClusterRoleBinding, { metadata, roleRef, subjects: [reader] }, how)
  const blocks = [{ apiGroups: [IPAMBlock.group], resources: [IPAMBlock.plural], verbs: ['get', 'list', 'watch', 'create', 'delete'] }]
  await client.apply(ClusterRole, { metadata: { name: blocksRole }, rules: blocks }, how)
  const nodes = [{ apiGroup, kind: 'Group', name: 'system:nodes' }]
  const blocksRef = { apiGroup, kind: 'ClusterRole', name: blocksRole }
  await client.apply(ClusterRoleBinding, { metadata: { name: blocksRole }, roleRef: blocksRef, subjects: nodes }, how)
}

/** Agents on nodes may read the secrets that peers name for their passwords, and no others. */
function followPasswords(stage: Stage, client: Client, seams: Pick<ClusterSeams, 'clock' | 'random' | 'logger'>): void {
  const peers = new Informer({ ...seams, client, kind: BGPPeer, forgetsManagers: true })
  const metadata = { name: role, namespace: secretsNamespace }
  const how = { fieldManager: 'typernetes', force: true }
  let granted = ''
  const loop = new SyncLoop({
    ...{ clock: seams.clock, minMs: 0, maxMs: 600_000 },
    async run() {
      const names = peers.list().flatMap(({ spec }) => spec.password?.secretKeyRef.name ?? [])
      const resourceNames = [...new Set(names)].sort()
      if (resourceNames.join() === granted) return
      const rules =
        resourceNames.length === 0 ? [] : [{ apiGroups: [''], resources: ['secrets'], resourceNames, verbs: ['get', 'list', 'watch'] }]
      await client.apply(Role, { metadata, rules }, how)
      await client.apply(RoleBinding, { metadata, roleRef: { apiGroup, kind: 'Role', name: role }, subjects: [reader] }, how)
      granted = resourceNames.join()
    },
    onFailure: (error, retryMs) =>
      seams.logger.warn('failed to let nodes read passwords of BGP peers, retrying', { error: String(error), retryMs }),
  })
  const look = () => loop.request()
  peers.addHandler({ onAdd: look, onUpdate: look, onDelete: look })
  peers.start()
  stage.defer(async () => {
    peers.stop()
    await loop.stop()
  })
}
