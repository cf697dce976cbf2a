/** What happens in a cluster that can make a pod fit that did not fit before. */
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import type { WatchedKind, WatchedObjects } from '#scheduler/cluster-objects.ts'
import { deepEqual } from '#scheduler/framework/deep-equal.ts'

export type EventResource = WatchedKind | '*'

export type EventAction =
  | 'Add'
  | 'Delete'
  | 'Update'
  | 'UpdateNodeAllocatable'
  | 'UpdateNodeLabel'
  | 'UpdateNodeTaint'
  | 'UpdateNodeCondition'
  | 'UpdateNodeDeclaredFeature'
  | 'UpdatePodLabel'
  | 'UpdatePodScaleDown'
  | 'UpdatePodToleration'
  | 'UpdatePodSchedulingGatesEliminated'
  | 'UpdatePodGeneratedResourceClaim'
  | '*'

/** `before` is missing when the object is new, `after` when it is gone. */
export type ClusterEvent = {
  readonly resource: EventResource
  readonly action: EventAction
  readonly before?: unknown
  readonly after?: unknown
  /** Upstream's name of it, as metrics label it. */
  readonly label: string
}

/** A kind of event that may turn a plugin's no into a yes. Its type says what a hint gets to see. */
export type RetryOn<Before = unknown, After = unknown> = {
  readonly resource: EventResource
  readonly actions: readonly EventAction[]
  /** Whether this very event does; every event of the kind does when there is no hint. */
  hint?(pod: V1Pod, before: Before, after: After): boolean
}

type Update = Exclude<EventAction, 'Add' | 'Delete' | '*'>

const added = <Kind extends WatchedKind>(resource: Kind): RetryOn<undefined, WatchedObjects[Kind]> => ({ resource, actions: ['Add'] })

const deleted = <Kind extends WatchedKind>(resource: Kind): RetryOn<WatchedObjects[Kind], undefined> => ({ resource, actions: ['Delete'] })

const updated = <Kind extends WatchedKind>(resource: Kind, action: Update): RetryOn<WatchedObjects[Kind], WatchedObjects[Kind]> => ({
  resource,
  actions: [action],
})

const addedOrUpdated = <Kind extends WatchedKind>(resource: Kind): RetryOn<WatchedObjects[Kind] | undefined, WatchedObjects[Kind]> => ({
  resource,
  actions: ['Add', 'Update'],
})

export const on = {
  node: {
    added: added('Node'),
    deleted: deleted('Node'),
    allocatableChanged: updated('Node', 'UpdateNodeAllocatable'),
    labelsChanged: updated('Node', 'UpdateNodeLabel'),
    taintsChanged: updated('Node', 'UpdateNodeTaint'),
    featuresChanged: updated('Node', 'UpdateNodeDeclaredFeature'),
  },
  /** Of other pods, bound or nominated, and of the waiting pod itself. */
  pod: {
    added: added('Pod'),
    deleted: deleted('Pod'),
    labelsChanged: updated('Pod', 'UpdatePodLabel'),
    scaledDown: updated('Pod', 'UpdatePodScaleDown'),
    tolerationsChanged: updated('Pod', 'UpdatePodToleration'),
    gatesEliminated: updated('Pod', 'UpdatePodSchedulingGatesEliminated'),
    claimGenerated: updated('Pod', 'UpdatePodGeneratedResourceClaim'),
  },
  added,
  changed: addedOrUpdated,
  deleted,
} as const

/** The event, when the hint says so. */
export const when = <Before, After>(
  event: RetryOn<Before, After>,
  hint: (pod: V1Pod, before: Before, after: After) => boolean,
): RetryOn<Before, After> => ({ ...event, hint })

export function concerns({ resource, actions }: RetryOn, event: ClusterEvent): boolean {
  if (event.resource === '*') return true
  return (
    resource === event.resource &&
    (event.action === '*' || actions.includes(event.action) || (event.action.startsWith('Update') && actions.includes('Update')))
  )
}

/** Everything that may have changed, for when nobody knows what. */
export const anyEvent = (label: string): ClusterEvent => ({ resource: '*', action: '*', label })

export function nodeEvents(before: V1Node, after: V1Node): ClusterEvent[] {
  const events: ClusterEvent[] = []
  const add = (action: EventAction, label: string) => events.push({ resource: 'Node', action, before, after, label })
  if (!deepEqual(before.status?.allocatable, after.status?.allocatable)) add('UpdateNodeAllocatable', 'NodeAllocatableChange')
  if (!deepEqual(before.metadata.labels, after.metadata.labels)) add('UpdateNodeLabel', 'NodeLabelChange')
  if (!deepEqual(before.spec?.taints, after.spec?.taints) || before.spec?.unschedulable !== after.spec?.unschedulable)
    add('UpdateNodeTaint', 'NodeTaintChange')
  if (!deepEqual(conditionStates(before), conditionStates(after))) add('UpdateNodeCondition', 'NodeConditionChange')
  if (!deepEqual(before.status?.declaredFeatures, after.status?.declaredFeatures))
    add('UpdateNodeDeclaredFeature', 'NodeDeclaredFeatureChange')
  return events
}

/** Heartbeats are no change. */
const conditionStates = ({ status }: V1Node) =>
  Object.fromEntries((status?.conditions ?? []).map(({ type, status: state }) => [type, state]))
