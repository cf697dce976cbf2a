import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { markDeletionCandidate, removeTaint } from '#cluster-autoscaler/scale-down/node-taints.ts'
import { deletionCandidateTaint, hasTaint, toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'

/** Nodes that are not needed get the soft taint, those that are lose it; a few in each round. */
export async function updateSoftTaints(
  nodes: readonly V1Node[],
  unneeded: ReadonlySet<string>,
  { client, clock, logger, most }: { client: Client; clock: Clock; logger: Logger; most: number },
): Promise<void> {
  const wrong = nodes.filter((node) => {
    if (hasTaint(node, toBeDeletedTaint)) return false
    return unneeded.has(node.metadata.name ?? '') !== hasTaint(node, deletionCandidateTaint)
  })
  // Those that are needed first: pods may be waiting for them.
  const isUnneeded = ({ metadata }: V1Node) => unneeded.has(metadata.name ?? '')
  for (const node of wrong.toSorted((one, other) => Number(isUnneeded(one)) - Number(isUnneeded(other))).slice(0, most)) {
    const name = node.metadata.name ?? ''
    try {
      await (isUnneeded(node)
        ? markDeletionCandidate(name, { client, clock })
        : removeTaint(name, deletionCandidateTaint, { client, clock }))
    } catch (error) {
      logger.warn('failed to change taint', { node: name, taint: deletionCandidateTaint, error: errorMessage(error) })
    }
  }
}
