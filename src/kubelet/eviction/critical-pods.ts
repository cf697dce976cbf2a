import type { V1Pod } from '#api/core/v1/types.gen.ts'

const systemCriticalPriority = 2_000_000_000

/** Pods without which the node or the cluster does not work: they stay when others have to go. */
export function isCriticalPod({ metadata, spec }: V1Pod): boolean {
  const { annotations = {} } = metadata
  const source = annotations['kubernetes.io/config.source']
  const isStatic = (source !== undefined && source !== 'api') || annotations['kubernetes.io/config.mirror'] !== undefined
  return isStatic || (spec.priority ?? 0) >= systemCriticalPriority
}
