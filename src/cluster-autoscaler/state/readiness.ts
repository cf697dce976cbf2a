/** How far the nodes of a group, or of the cluster, have come. */
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { isStartupTaint } from '#cluster-autoscaler/snapshot/taints.ts'

export type Readiness = {
  readonly registered: string[]
  readonly ready: string[]
  readonly unready: string[]
  /** So young that they may still become ready. */
  readonly notStarted: string[]
  /** Nodes whose machine the provider no longer has. */
  readonly deleted: string[]
  readonly unregistered: string[]
  readonly longUnregistered: string[]
}

export const noReadiness = (): Readiness => ({
  ...{ registered: [], ready: [], unready: [], notStarted: [], deleted: [], unregistered: [], longUnregistered: [] },
})

/** From the node's registration until it is ready. */
const startupMs = 15 * 60_000

export function countNode(
  readiness: Readiness,
  node: V1Node,
  { nowMs, isDeleted, options }: { nowMs: number; isDeleted: boolean; options: AutoscalerOptions },
): void {
  const name = node.metadata.name ?? ''
  readiness.registered.push(name)
  if (isDeleted) readiness.deleted.push(name)
  else if (hasStarted(node, options)) readiness.ready.push(name)
  else if (createdMs(node) + startupMs > nowMs) readiness.notStarted.push(name)
  else readiness.unready.push(name)
}

const hasStarted = (node: V1Node, options: Pick<AutoscalerOptions, 'startupTaints' | 'statusTaints'>): boolean =>
  isNodeReady(node) &&
  !(node.spec?.taints ?? []).some((taint) => isStartupTaint(taint, options) || taint.key === 'node.kubernetes.io/not-ready')

const createdMs = ({ metadata }: V1Node): number => (metadata.creationTimestamp ? parseTime(metadata.creationTimestamp) : 0)
