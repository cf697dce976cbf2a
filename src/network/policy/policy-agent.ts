import { Namespace, Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { NetworkPolicy } from '#api/networking/v1/kinds.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import { SyncLoop } from '#base/sync-loop.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { compileCalicoPolicy, compileGlobalPolicy } from '#network/calico/compile-calico-policy.ts'
import { CalicoNetworkPolicy, GlobalNetworkPolicy } from '#network/calico/definitions.ts'
import { type CompiledPolicy, compilePolicy } from '#network/policy/compiled-policy.ts'
import { nameServerKey, nameServerPod, nameServerSlices } from '#network/policy/name-server-pod.ts'
import { policyPodOf } from '#network/policy/policy-pod.ts'
import { PolicyTable } from '#network/policy/policy-table.ts'
import { bringAbout, type NftProgram } from '#wire/nftables/nft-program.ts'

export type PolicyAgentOptions = {
  /** May list and watch policies, pods, namespaces, the node, and endpoint slices in kube-system. */
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  nft: NftProgram
  nodeName: string
  /** Also enforces Calico's policies, whose definitions must be there. */
  followsCalico?: boolean
  /** Another one for each cluster on a machine. */
  tableName?: string
  minSyncMs?: number
  syncMs?: number
}

export type RunningPolicyAgent = {
  /** Resolves when policies are in force for the first time. */
  readonly synced: Promise<void>
  /** Rules stay in force. */
  stop(): Promise<void>
}

export const policyTableName = 'kube-network-policy'

/** Enforces NetworkPolicy on one node. What another run left stays in force until this one knows everything, then is replaced in one step. */
export function runPolicyAgent(options: PolicyAgentOptions): RunningPolicyAgent {
  const { client, clock, random, logger, nft, nodeName, tableName = policyTableName } = options
  const shared = { client, clock, random, logger, forgetsManagers: true }
  const policies = new Informer({ ...shared, kind: NetworkPolicy })
  const pods = new Informer({ ...shared, kind: Pod })
  const namespaces = new Informer({ ...shared, kind: Namespace })
  const nodes = new Informer({ ...shared, kind: Node, fieldSelector: `metadata.name=${nodeName}` })
  const nameServers = new Informer({ ...shared, kind: EndpointSlice, ...nameServerSlices })
  const informers: Pick<Informer<KubernetesObject>, 'start' | 'stop' | 'synced'>[] = [policies, pods, namespaces, nodes, nameServers]
  const table = new PolicyTable(nodeName, tableName)
  const first = Promise.withResolvers<void>()
  let isReady = false
  let needsFull = true
  const loop = new SyncLoop({
    ...{ clock, minMs: options.minSyncMs ?? 0, maxMs: options.syncMs ?? 30_000 },
    async run(isDue) {
      const isGone = isDue && !needsFull && !(await nft.hasChain('inet', tableName, 'forward'))
      try {
        await bringAbout(table.updated(), nft, { isFull: needsFull || isGone, keeps: () => false })
        needsFull = false
        first.resolve()
      } catch (error) {
        needsFull = true
        throw error
      }
    },
    onFailure: (error, retryMs) =>
      logger.error('failed to sync NetworkPolicy rules, retrying', { node: nodeName, retryMs, error: String(error) }),
  })
  const changed = () => {
    if (isReady) loop.request()
  }
  const told =
    <T>(work: (object: T) => void) =>
    (object: T) => {
      work(object)
      changed()
    }
  const putPod = told((pod: Parameters<typeof policyPodOf>[0]) => {
    const known = policyPodOf(pod)
    if (known === undefined) table.deletePod(`${pod.metadata.namespace}/${pod.metadata.name}`)
    else table.setPod(known)
  })
  pods.addHandler({
    onAdd: putPod,
    onUpdate: putPod,
    onDelete: told(({ metadata }) => table.deletePod(`${metadata.namespace}/${metadata.name}`)),
  })
  const follow = <T extends KubernetesObject>(informer: Informer<T>, compile: (policy: T) => CompiledPolicy) => {
    const put = told((policy: T) => table.setPolicy(compile(policy)))
    informer.addHandler({ onAdd: put, onUpdate: put, onDelete: told((policy) => table.deletePolicy(compile(policy).key)) })
  }
  follow(policies, compilePolicy)
  if (options.followsCalico) {
    const ofNamespaces = new Informer({ ...shared, kind: CalicoNetworkPolicy })
    const global = new Informer({ ...shared, kind: GlobalNetworkPolicy })
    follow(ofNamespaces, compileCalicoPolicy)
    follow(global, compileGlobalPolicy)
    informers.push(ofNamespaces, global)
  }
  const putNamespace = told(({ metadata }: { metadata: { name?: string; labels?: Record<string, string> } }) =>
    table.setNamespace(metadata.name ?? '', metadata.labels ?? {}),
  )
  namespaces.addHandler({
    onAdd: putNamespace,
    onUpdate: putNamespace,
    onDelete: told(({ metadata }) => table.deleteNamespace(metadata.name ?? '')),
  })
  const putNameServer = told((slice: Parameters<typeof nameServerPod>[0]) => {
    const known = nameServerPod(slice)
    if (known === undefined) table.deletePod(nameServerKey(slice))
    else table.setPod(known)
  })
  nameServers.addHandler({
    onAdd: putNameServer,
    onUpdate: putNameServer,
    onDelete: told((slice) => table.deletePod(nameServerKey(slice))),
  })
  let ranges = ''
  const putNode = told(({ spec }: { spec?: { podCIDR?: string; podCIDRs?: string[] } }) => {
    const found = spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : [])
    if (found.join() === ranges) return
    ranges = found.join()
    table.setPodCidrs(found)
  })
  nodes.addHandler({ onAdd: putNode, onUpdate: putNode })
  for (const informer of informers) informer.start()
  void Promise.all(informers.map(({ synced }) => synced)).then(() => {
    isReady = true
    loop.request()
  })
  return {
    synced: first.promise,
    async stop() {
      for (const informer of informers) informer.stop()
      await loop.stop()
      nft.close()
    },
  }
}
