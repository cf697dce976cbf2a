import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Container, V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { directionOf, type Estimator, estimateResources, type Needs } from '#controllers/addon-resizer/estimate-resources.ts'

export type ResizedAddon = {
  namespace: string
  deployment: string
  container: string
  /** Whose resources are compared; the deployment's where empty. */
  pod: string
  needs: Needs
  estimator: Estimator
  thresholdPercent: number
  scaleUpDelayMs: number
  scaleDownDelayMs: number
  /** What the size of a cluster is. */
  scalingMode: 'node-proportional' | 'container-proportional'
}

/** Upstream's names of what a round came to. */
export type Outcome =
  | 'resources_within_limits'
  | 'scale_up_down_delay'
  | 'updated_resources'
  | 'error_getting_resources'
  | 'error_updating_deployment'

export type ResizingParts = {
  client: Client
  logger: Logger
  clusterSize: number
  nowMs: number
  /** When it began to look after the add-on, or changed it. */
  lastChangeMs: number
}

const containersIn = (pods: readonly V1Pod[]): number =>
  pods
    .filter((pod) => !isPodFinished(pod))
    .reduce(
      (sum, { spec }) => sum + spec.containers.length + (spec.initContainers?.length ?? 0) + (spec.ephemeralContainers?.length ?? 0),
      0,
    )

export const sizeOf = (
  { scalingMode }: Pick<ResizedAddon, 'scalingMode'>,
  nodes: readonly V1Node[],
  pods: () => readonly V1Pod[],
): number => (scalingMode === 'node-proportional' ? nodes.length : containersIn(pods()))

/** One round. */
export async function resizeAddon(
  addon: ResizedAddon,
  { client, logger, clusterSize, nowMs, lastChangeMs }: ResizingParts,
): Promise<Outcome> {
  const { namespace, deployment: name, container } = addon
  const failure = (what: Outcome, error: unknown): Outcome => {
    logger.warn('failed to resize add-on', { namespace, deployment: name, container, error: String(error) })
    return what
  }
  let present: V1Container['resources']
  try {
    present = await currentResources(addon, client)
  } catch (error) {
    return failure('error_getting_resources', error)
  }
  const expected = estimateResources(addon.needs, clusterSize, addon.estimator)
  const direction = directionOf(present ?? {}, expected, addon.thresholdPercent)
  if (direction === undefined) return 'resources_within_limits'
  const sinceMs = nowMs - lastChangeMs
  if ((direction === 'down' && sinceMs < addon.scaleDownDelayMs) || (direction === 'up' && sinceMs < addon.scaleUpDelayMs))
    return 'scale_up_down_delay'
  logger.info('resources are not within the expected limits, updating the deployment', {
    namespace,
    deployment: name,
    container,
    ...expected,
  })
  try {
    const { spec } = await client.get(Deployment, namespace, name)
    const index = (spec?.template.spec?.containers ?? []).findIndex((one) => one.name === container)
    if (index < 0) throw new Error(`Container ${container} was not found in the deployment ${name} in namespace ${namespace}.`)
    const before = spec?.template.spec?.containers[index]?.resources ?? {}
    const resources = { ...before, limits: { ...before.limits, ...expected }, requests: { ...before.requests, ...expected } }
    const path = `/spec/template/spec/containers/${index}`
    // The place is that of a list: whoever else changed the list is not overwritten.
    const patch = [
      { op: 'test', path: `${path}/name`, value: container },
      { op: 'add', path: `${path}/resources`, value: resources },
    ]
    await client.patch(Deployment, { namespace, name }, patch, { type: 'json' })
  } catch (error) {
    return failure('error_updating_deployment', error)
  }
  return 'updated_resources'
}

async function currentResources(
  { namespace, deployment, container, pod }: ResizedAddon,
  client: Client,
): Promise<V1Container['resources']> {
  const containers =
    pod === ''
      ? ((await client.get(Deployment, namespace, deployment)).spec?.template.spec?.containers ?? [])
      : (await client.get(Pod, namespace, pod)).spec.containers
  const found = containers.find(({ name }) => name === container)
  if (found === undefined) throw new Error(`Container ${container} was not found in deployment ${deployment} in namespace ${namespace}.`)
  return found.resources
}
