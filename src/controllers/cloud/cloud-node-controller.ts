/** Writes what the cloud knows of a machine into its node, and lets pods on it after that. */

import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1NodeAddress } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { errorMessage } from '#base/error-message.ts'
import { exponentialBuckets, type Metrics } from '#base/metrics.ts'
import { retryOnConflict } from '#client/retry.ts'
import type { CloudInstances, InstanceMetadata } from '#controllers/cloud/cloud-provider.ts'
import { preferred, wantedAddresses } from '#controllers/cloud/node-addresses.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { defineLoop } from '#controllers/runtime/define-loop.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'

const uninitializedTaint = 'node.cloudprovider.kubernetes.io/uninitialized'
/** Others write nodes all the time. */
const writeAttempts = 20

/** The labels that were beta once lead; those that took their place follow. */
const betaLabels: readonly (readonly [beta: string, stable: string])[] = [
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
]

export type CloudNodeOptions = {
  instances: CloudInstances
  metrics: Metrics
  statusUpdateMs: number
  /** How many nodes are brought up to date at the same time. */
  concurrentUpdates: number
}

const names = { name: 'cloud-node-controller', alias: 'cloud-node', serviceAccount: 'node-controller' }

export function cloudNodeController(options: CloudNodeOptions): Controller {
  return togetherAs(names, [initialization(options), addressUpdates(options)])
}

function initialization({ instances, metrics }: CloudNodeOptions): Controller {
  const buckets = exponentialBuckets(1, 4, 6)
  const untainted = metrics.histogram(
    'node_controller_cloud_provider_taint_removal_delay_seconds',
    'How long after its creation a node lost the taint of an uninitialized node',
    buckets,
  )
  const synced = metrics.histogram(
    'node_controller_initial_node_sync_delay_seconds',
    'How long after its creation a node had everything that the cloud knows of it',
    buckets,
  )
  return defineController({
    ...names,
    queueName: 'Nodes',
    eventComponent: names.name,
    for: Node,
    concurrency: 1,

    async reconcile(node, context) {
      const { client, clock, events, logger } = context
      const name = node.metadata.name ?? ''
      if (!isUninitialized(node)) return followBetaLabels(node, context)
      const metadata = await knownMetadata(instances, node)
      if (metadata === undefined) {
        logger.info('cloud provider knows nothing of the node, leaving it alone', { node: name })
        return
      }
      // Before the taint goes: an address that the cloud does not know would never be looked at again.
      try {
        preferred(node, metadata.addresses)
      } catch (error) {
        throw new Error(
          `failed to get node modifiers from cloud provider: provided node ip for node "${name}" is not valid: ${errorMessage(error)}`,
        )
      }
      const written = await retryOnConflict(
        clock,
        async () => client.update(Node, initialized(await client.get(Node, '', name), metadata)),
        { attempts: writeAttempts, firstPauseMs: 50 },
      )
      const ageSeconds = (clock.now() - Date.parse(node.metadata.creationTimestamp ?? '')) / 1000
      untainted.observe(ageSeconds)
      await writeAddresses(written, metadata.addresses, context)
      events.normal(Node, node, 'Synced', 'Node synced successfully')
      synced.observe(ageSeconds)
    },
  })
}

/** Addresses may change as long as the machine lives. */
function addressUpdates({ instances, statusUpdateMs, concurrentUpdates }: CloudNodeOptions): Controller {
  return defineLoop({
    ...names,
    reads: [Node],
    periodMs: () => statusUpdateMs,
    begin: (context) => async () => {
      const nodes = context.cache.list(Node).filter((node) => !isUninitialized(node))
      const work = async () => {
        for (let node = nodes.shift(); node !== undefined; node = nodes.shift()) {
          try {
            await writeAddresses(node, (await instances.metadata(node))?.addresses ?? [], context)
          } catch (error) {
            context.logger.warn('failed to get instance metadata for node addresses', {
              node: node.metadata.name,
              error: errorMessage(error),
            })
          }
        }
      }
      await Promise.all(Array.from({ length: concurrentUpdates }, work))
    },
  })
}

const isUninitialized = ({ spec }: V1Node): boolean => (spec?.taints ?? []).some(({ key }) => key === uninitializedTaint)

async function knownMetadata(instances: CloudInstances, node: V1Node): Promise<InstanceMetadata | undefined> {
  const name = node.metadata.name ?? ''
  const metadata = await instances.metadata(node).catch((error: unknown) => {
    throw new Error(`failed to get instance metadata for node ${name}: ${errorMessage(error)}`)
  })
  if (metadata === undefined || metadata.providerId !== '') return metadata
  const providerId = node.spec?.providerID ?? ''
  // Without one the node would never get it: load balancers and routes could not tell which machine is meant.
  if (providerId === '')
    throw new Error(`failed to get instance metadata for node ${name}: cloud provider does not set node provider ID for node ${name}`)
  return { ...metadata, providerId }
}

function initialized(node: V1Node, { providerId, instanceType = '', zone = '', region = '', labels = {} }: InstanceMetadata): V1Node {
  const values = [zone, region, instanceType]
  const own = betaLabels.flatMap(([beta, stable], index) => {
    const value = values[index] ?? ''
    return value === '' ? [] : [[beta, value] as const, [stable, value] as const]
  })
  const present = { ...node.metadata.labels, ...Object.fromEntries(own) }
  const further = Object.entries(labels).filter(([key]) => !/(^|\.)(kubernetes|k8s)\.io\//.test(key) && present[key] === undefined)
  return {
    ...node,
    metadata: { ...node.metadata, labels: { ...present, ...Object.fromEntries(further) } },
    spec: {
      ...node.spec,
      providerID: node.spec?.providerID || providerId,
      taints: (node.spec?.taints ?? []).filter(({ key }) => key !== uninitializedTaint),
    },
  }
}

async function followBetaLabels(node: V1Node, { client }: ReconcileContext): Promise<void> {
  const present = node.metadata.labels ?? {}
  const changed = betaLabels.filter(([beta, stable]) => present[beta] !== undefined && present[beta] !== present[stable])
  if (changed.length === 0) return
  const labels = Object.fromEntries(changed.map(([beta, stable]) => [stable, present[beta] ?? '']))
  await client.patch(Node, { name: node.metadata.name ?? '' }, { metadata: { labels } })
}

/** What goes wrong here is mended by the next round: the node is in use by now. */
async function writeAddresses(
  node: V1Node,
  ofCloud: readonly V1NodeAddress[],
  { client, logger }: Pick<ReconcileContext, 'client' | 'logger'>,
): Promise<void> {
  const name = node.metadata.name ?? ''
  try {
    const addresses = wantedAddresses(node, ofCloud)
    if (addresses === undefined) return
    // As one value: a list that is merged by type would keep what the cloud no longer has.
    await client.patch(Node, { name }, { status: { addresses } }, { type: 'merge', subresource: 'status' })
  } catch (error) {
    if (!isNotFound(error)) logger.warn('failed to update node addresses', { node: name, error: errorMessage(error) })
  }
}
