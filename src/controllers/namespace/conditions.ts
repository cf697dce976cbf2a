/** What a namespace that is going away tells about how far it is. */

import type { V1Namespace, V1NamespaceCondition } from '#api/core/v1/types.gen.ts'
import { findCondition, transitionTime } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'

/** Each condition with what it says while there is nothing to say. */
const quiet: readonly [type: string, reason: string, message: string][] = [
  ['NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'],
  ['NamespaceDeletionGroupVersionParsingFailure', 'ParsedGroupVersions', 'All legacy kube types successfully parsed'],
  ['NamespaceDeletionContentFailure', 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
  ['NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'],
  ['NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
]

/** What was found in the namespace. */
export type Remains = {
  discoveryFailures: readonly string[]
  deletionFailures: readonly string[]
  /** By `plural.group`. */
  counts: ReadonlyMap<string, number>
  finalizers: ReadonlyMap<string, number>
}

export function conditionsOf(namespace: V1Namespace, remains: Remains, nowMs: number): V1NamespaceCondition[] {
  const troubles = new Map<string, [reason: string, message: string]>()
  const { discoveryFailures, deletionFailures, counts, finalizers } = remains
  if (discoveryFailures.length > 0) {
    const message = `Discovery failed for some groups, ${discoveryFailures.length} failing: unable to retrieve the complete list of server APIs: ${discoveryFailures.join(', ')}`
    troubles.set('NamespaceDeletionDiscoveryFailure', ['DiscoveryFailed', message])
  }
  if (deletionFailures.length > 0) {
    const message = `Failed to delete all resource types, ${deletionFailures.length} remaining: ${[...deletionFailures].sort().join(', ')}`
    troubles.set('NamespaceDeletionContentFailure', ['ContentDeletionFailed', message])
  }
  if (counts.size > 0) {
    const list = [...counts].map(([resource, count]) => `${resource} has ${count} resource instances`).sort()
    troubles.set('NamespaceContentRemaining', ['SomeResourcesRemain', `Some resources are remaining: ${list.join(', ')}`])
  }
  if (finalizers.size > 0) {
    const list = [...finalizers].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`).sort()
    const message = `Some content in the namespace has finalizers remaining: ${list.join(', ')}`
    troubles.set('NamespaceFinalizersRemaining', ['SomeFinalizersRemain', message])
  }
  const before = namespace.status?.conditions ?? []
  const ours = quiet.map(([type, okReason, okMessage]) => {
    const trouble = troubles.get(type)
    const status = trouble === undefined ? 'False' : 'True'
    const [reason, message] = trouble ?? [okReason, okMessage]
    const lastTransitionTime = transitionTime(findCondition(before, type), status, formatTime(nowMs))
    return { type, status, lastTransitionTime, reason, message }
  })
  return [...before.filter(({ type }) => !quiet.some(([ourType]) => ourType === type)), ...ours]
}
