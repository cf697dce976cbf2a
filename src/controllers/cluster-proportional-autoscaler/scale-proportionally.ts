import { Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { ConfigMap, ReplicationController } from '#api/core/v1/kinds.gen.ts'
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1ConfigMap, V1Node } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { milliValueOf } from '#api/meta/quantity.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { type ClusterSize, readScalingParams } from '#controllers/cluster-proportional-autoscaler/scaling-params.ts'

export type ScaledTarget = { readonly kind: Kind; readonly name: string }

export type ProportionalScaling = {
  namespace: string
  /** Holds the parameters. */
  configMap: string
  targets: readonly ScaledTarget[]
  /** What the config map is made of where there is none. */
  defaultParams?: Readonly<Record<string, string>>
  /** Of the nodes that count; all where empty. */
  nodeLabels?: string
}

const kinds: Readonly<Record<string, Kind>> = {
  deployment: Deployment,
  deployments: Deployment,
  replicaset: ReplicaSet,
  replicasets: ReplicaSet,
  statefulset: StatefulSet,
  statefulsets: StatefulSet,
  replicationcontroller: ReplicationController,
  replicationcontrollers: ReplicationController,
}

/** `deployment/coredns,replicaset/other`, in any case. */
export function parseTargets(text: string): ScaledTarget[] {
  return text.split(',').map((part) => {
    const [kindName = '', name = '', ...more] = part.trim().split('/')
    const kind = kinds[kindName.toLowerCase()]
    if (kind === undefined || name === '' || more.length > 0)
      throw new Error(
        `"${part.trim()}" is not a valid target: use 'deployment/*,replicationcontroller/*,replicaset/*' (not case sensitive, comma delimiter supported)`,
      )
    return { kind, name: name.toLowerCase() }
  })
}

export function clusterSize(nodes: readonly V1Node[], nodeLabels = ''): ClusterSize {
  const selector = parseLabelSelector(nodeLabels)
  const counted = nodes.filter(({ metadata }) => selector.matches(metadata.labels))
  const schedulable = counted.filter((node) => !node.spec?.unschedulable && isNodeReady(node))
  // Parts of a core are counted together before they are rounded, up.
  const cores = (of: readonly V1Node[]) =>
    Math.ceil(of.reduce((sum, { status }) => sum + milliValueOf(status?.allocatable?.['cpu']), 0) / 1000)
  return {
    totalNodes: counted.length,
    schedulableNodes: schedulable.length,
    totalCores: cores(counted),
    schedulableCores: cores(schedulable),
  }
}

export type ScalingParts = { client: Client; logger: Logger; nodes: readonly V1Node[] }

/** One round: brings every target to the number of replicas that fits the cluster. Throws where that cannot be known or done. */
export async function scaleProportionally(scaling: ProportionalScaling, { client, logger, nodes }: ScalingParts): Promise<void> {
  const size = clusterSize(nodes, scaling.nodeLabels)
  const { data = {} } = await paramsOf(scaling, client)
  const replicas = readScalingParams(data)(size)
  for (const { kind, name } of scaling.targets) {
    const place = { namespace: scaling.namespace, name }
    const scale = await client.subresource<{ spec?: { replicas?: number } }>('GET', kind, place, 'scale')
    const before = scale.spec?.replicas ?? 0
    if (before === replicas) continue
    logger.info('replicas are not as expected, scaling', { kind: kind.kind, ...place, from: before, to: replicas, ...size })
    await client.subresource('PUT', kind, place, 'scale', { ...scale, spec: { ...scale.spec, replicas } })
  }
}

async function paramsOf({ namespace, configMap: name, defaultParams }: ProportionalScaling, client: Client): Promise<V1ConfigMap> {
  try {
    return await client.get(ConfigMap, namespace, name)
  } catch (error) {
    if (defaultParams === undefined || !isNotFound(error)) throw error
    return client.create(ConfigMap, { metadata: { namespace, name }, data: { ...defaultParams } })
  }
}
