/** The taints the autoscaler knows: its own, and those that say something about a node's state and not about its kind. */
import type { V1Node, V1Taint } from '#api/core/v1/types.gen.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'

export const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler'
export const deletionCandidateTaint = 'DeletionCandidateOfClusterAutoscaler'

const conditionTaints: ReadonlySet<string> = new Set([
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/unschedulable',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/network-unavailable',
  'node.kubernetes.io/pid-pressure',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'node.cloudprovider.kubernetes.io/shutdown',
  'cloud.google.com/impending-node-termination',
  'NodeWithImpairedVolumes',
])
const startupPrefixes = ['startup-taint.cluster-autoscaler.kubernetes.io/', 'ignore-taint.cluster-autoscaler.kubernetes.io/']
const statusPrefix = 'status-taint.cluster-autoscaler.kubernetes.io/'

type TaintOptions = Pick<AutoscalerOptions, 'startupTaints' | 'statusTaints'>

/** A node with one of these has not started yet. */
export const isStartupTaint = ({ key }: V1Taint, { startupTaints }: TaintOptions): boolean =>
  startupTaints.includes(key) || startupPrefixes.some((prefix) => key.startsWith(prefix))

/** Those a new node of the same group will have as well. */
export function lastingTaints(taints: readonly V1Taint[], options: TaintOptions): V1Taint[] {
  return taints.filter((taint) => {
    const { key } = taint
    if (key === toBeDeletedTaint || key === deletionCandidateTaint || conditionTaints.has(key)) return false
    return !isStartupTaint(taint, options) && !options.statusTaints.includes(key) && !key.startsWith(statusPrefix)
  })
}

export const hasTaint = ({ spec }: V1Node, key: string): boolean => (spec?.taints ?? []).some((taint) => taint.key === key)

/** Taints carry the second in which they were set. */
export function taintedAtMs({ spec }: V1Node, key: string): number | undefined {
  const value = (spec?.taints ?? []).find((taint) => taint.key === key)?.value
  return value === undefined || !/^\d+$/.test(value) ? undefined : Number(value) * 1000
}
