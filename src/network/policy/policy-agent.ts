import { Namespace, Node, Pod, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1ServiceAccount } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { canonicalCidr } from '#api/meta/ip.ts'
import { NetworkPolicy } from '#api/networking/v1/kinds.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Clock } from '#base/clock.ts'
import { inTurns } from '#base/in-turns.ts'
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
import { endpointsIn, serviceOfSlice } from '#network/policy/service-endpoints.ts'
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
  const table = new PolicyTable(nodeName, tableName, options.followsCalico ? { linkPrefix: 'cali' } : {})
  const first = Promise.withResolvers<void>()
  let isReady = false
  let needsFull = true
  const loop = new SyncLoop({
    ...{ clock, minMs: options.minSyncMs ?? 0, maxMs: options.syncMs ?? 30_000 },
    async run(isDue) {
      const isGone = isDue && !needsFull && !(await nft.hasChain('inet', tableName, 'forward'))
      try {
        const update = () => inTurns(table.update(), clock)
        await bringAbout(await update(), nft, { isFull: needsFull || isGone, keeps: () => false, update })
        needsFull = false
        first.resolve()
      } catch (error) {
        needsFull = true
        throw error
      } finally {
        for (const { owner, why } of table.takeLeftOut()) {
          logger.error('nft does not take a part of the NetworkPolicy rules: it is left out', { node: nodeName, of: owner, error: why })
        }
      }
    },
    onFailure: (error, retryMs) =>
      logger.error('failed to sync NetworkPolicy rules, retrying', { node: nodeName, retryMs, error: String(error) }),
  })
  const changed = () => {
    if (isReady) loop.request()
  }
  const thenSync =
    <T>(work: (object: T) => void) =>
    (object: T) => {
      work(object)
      changed()
    }
  const accounts = options.followsCalico ? new Informer({ ...shared, kind: ServiceAccount }) : undefined
  const putPod = thenSync((pod: Parameters<typeof policyPodOf>[0]) => {
    const known = policyPodOf(pod, accounts?.get(pod.metadata.namespace ?? '', pod.spec.serviceAccountName ?? '')?.metadata.labels)
    if (known === undefined) table.deletePod(`${pod.metadata.namespace}/${pod.metadata.name}`)
    else table.setPod(known)
  })
  pods.addHandler({
    onAdd: putPod,
    onUpdate: putPod,
    onDelete: thenSync(({ metadata }) => table.deletePod(`${metadata.namespace}/${metadata.name}`)),
  })
  const follow = <T extends KubernetesObject>(informer: Informer<T>, compile: (policy: T) => CompiledPolicy) => {
    const put = thenSync((policy: T) => {
      const compiled = compile(policy)
      const { key, omitted } = compiled
      if (omitted !== undefined)
        logger.warn('a NetworkPolicy has too many rules or selectors: those past the first 1000 allow nothing', { policy: key, omitted })
      table.setPolicy(compiled)
    })
    informer.addHandler({ onAdd: put, onUpdate: put, onDelete: thenSync((policy) => table.deletePolicy(compile(policy).key)) })
  }
  follow(policies, compilePolicy)
  if (options.followsCalico) {
    const ofNamespaces = new Informer({ ...shared, kind: CalicoNetworkPolicy })
    const global = new Informer({ ...shared, kind: GlobalNetworkPolicy })
    follow(ofNamespaces, compileCalicoPolicy)
    follow(global, compileGlobalPolicy)
    const slices = new Informer({ ...shared, kind: EndpointSlice })
    slices.addIndex('service', (slice) => [serviceOfSlice(slice) ?? ''])
    const putService = thenSync((slice: V1EndpointSlice) => {
      const service = serviceOfSlice(slice)
      if (service !== undefined) table.setService(service, slices.byIndex('service', service).flatMap(endpointsIn))
    })
    slices.addHandler({ onAdd: putService, onUpdate: putService, onDelete: putService })
    informers.push(ofNamespaces, global, slices)
  }
  if (accounts !== undefined) {
    pods.addIndex('account', ({ metadata, spec }) => [`${metadata.namespace}/${spec.serviceAccountName}`])
    const putAccount = thenSync(({ metadata }: V1ServiceAccount) => {
      for (const pod of pods.byIndex('account', `${metadata.namespace}/${metadata.name}`)) putPod(pod)
    })
    accounts.addHandler({
      onAdd: putAccount,
      onUpdate: (next, prev) => JSON.stringify(next.metadata.labels) === JSON.stringify(prev.metadata.labels) || putAccount(next),
      onDelete: putAccount,
    })
    informers.push(accounts)
  }
  const putNamespace = thenSync(({ metadata }: { metadata: { name?: string; labels?: Record<string, string> } }) =>
    table.setNamespace(metadata.name ?? '', metadata.labels ?? {}),
  )
  namespaces.addHandler({
    onAdd: putNamespace,
    onUpdate: putNamespace,
    onDelete: thenSync(({ metadata }) => table.deleteNamespace(metadata.name ?? '')),
  })
  const putNameServer = thenSync((slice: Parameters<typeof nameServerPod>[0]) => {
    const known = nameServerPod(slice)
    if (known === undefined) table.deletePod(nameServerKey(slice))
    else table.setPod(known)
  })
  nameServers.addHandler({
    onAdd: putNameServer,
    onUpdate: putNameServer,
    onDelete: thenSync((slice) => table.deletePod(nameServerKey(slice))),
  })
  let ranges = ''
  const putNode = thenSync(({ spec }: { spec?: { podCIDR?: string; podCIDRs?: string[] } }) => {
    const found = (spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : [])).flatMap((cidr) => canonicalCidr(cidr) ?? [])
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
