/** Nodes whose machines are gone go too; those whose machines are shut down are marked. */

import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { errorMessage } from '#base/error-message.ts'
import { retryOnConflict } from '#client/retry.ts'
import type { CloudInstances } from '#controllers/cloud/cloud-provider.ts'
import { defineLoop, type LoopContext } from '#controllers/runtime/define-loop.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

const shutdownTaint = 'node.cloudprovider.kubernetes.io/shutdown'
const isShutdownTaint = ({ key, effect }: { key: string; effect: string }): boolean => key === shutdownTaint && effect === 'NoSchedule'

export function cloudNodeLifecycleController(instances: CloudInstances): Controller {
  const name = 'cloud-node-lifecycle-controller'
  return defineLoop({
    name,
    alias: 'cloud-node-lifecycle',
    serviceAccount: 'node-controller',
    eventComponent: name,
    reads: [Node],
    periodMs: ({ nodeMonitorPeriodMs }) => nodeMonitorPeriodMs,
    begin: (context) => async () => {
      for (const node of context.cache.list(Node)) {
        // One node's trouble is no reason not to look at the others.
        try {
          await look(node, instances, context)
        } catch (error) {
          context.logger.warn('failed to check the machine of a node', { node: node.metadata.name, error: errorMessage(error) })
        }
      }
    },
  })
}

async function look(node: V1Node, instances: CloudInstances, context: LoopContext): Promise<void> {
  const { client, events, logger } = context
  const name = node.metadata.name ?? ''
  // A node that says it is well needs no machine that the cloud knows of.
  if (findCondition(node.status?.conditions, 'Ready')?.status === 'True') {
    if ((node.spec?.taints ?? []).some(isShutdownTaint)) await setShutdownTaint(name, false, context)
    return
  }
  if (await instances.exists(node)) {
    if (await instances.isShutDown(node)) await setShutdownTaint(name, true, context)
    return
  }
  logger.info('deleting node since it is no longer present in cloud provider', { node: name })
  events.normal(Node, node, 'DeletingNode', `Deleting node ${name} because it does not exist in the cloud provider`)
  try {
    await client.delete(Node, { name })
  } catch (error) {
    if (isNotFound(error)) return
    events.warning(Node, node, 'DeletingNodeFailed', `Failed deleting node ${name}: ${errorMessage(error)}`)
    throw error
  }
}

async function setShutdownTaint(name: string, isDown: boolean, { client, clock }: LoopContext): Promise<void> {
  await retryOnConflict(clock, async () => {
    const node = await client.get(Node, '', name)
    const taints = node.spec?.taints ?? []
    if (taints.some(isShutdownTaint) === isDown) return
    const others = taints.filter((taint) => !isShutdownTaint(taint))
    const next = isDown ? [...others, { key: shutdownTaint, effect: 'NoSchedule' }] : others
    await client.update(Node, { ...node, spec: { ...node.spec, taints: next } })
  })
}
