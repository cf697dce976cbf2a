/** Which pods of a node would have to run elsewhere, and which of them keep the node. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { parseTime } from '#api/meta/time.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { isLongTerminating } from '#cluster-autoscaler/scale-down/long-terminating.ts'
import type { RemainingBudgets } from '#cluster-autoscaler/scale-down/remaining-budgets.ts'
import { isDaemonSetPod, isMirrorPod } from '#cluster-autoscaler/snapshot/pod-kinds.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

export type BlockingReason =
  | 'ControllerNotFound'
  | 'MinReplicasReached'
  | 'NotReplicated'
  | 'LocalStorageRequested'
  | 'NotSafeToEvictAnnotation'
  | 'UnmovableKubeSystemPod'
  | 'NotEnoughPdb'

export type Blocking = { readonly pod: V1Pod; readonly reason: BlockingReason; readonly message: string }

export type Move = {
  readonly pods: readonly PodInfo[]
  readonly daemonPods: readonly PodInfo[]
  /** Pods that are waited for: nobody ends them. */
  readonly onCompletion: readonly PodInfo[]
}

/** How many replicas the owner of a pod wants; undefined when there is no such owner, `unknown` when nobody can tell. */
export type OwnerReplicas = (kind: string, apiVersion: string, namespace: string, name: string) => number | undefined | 'unknown'

export type DrainContext = { budgets: RemainingBudgets; replicasOf: OwnerReplicas; options: AutoscalerOptions; nowMs: number }

const safeToEvict = 'cluster-autoscaler.kubernetes.io/safe-to-evict'
const safeLocalVolumes = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes'
const replicatedKinds: ReadonlySet<string> = new Set(['ReplicationController', 'Job', 'ReplicaSet', 'StatefulSet'])

export function podsToMove(node: NodeInfo, context: DrainContext): Move | { readonly blocking: Blocking } {
  const move = { pods: [] as PodInfo[], daemonPods: [] as PodInfo[], onCompletion: [] as PodInfo[] }
  for (const info of node.pods) {
    const verdict = verdictOn(info, context)
    if (typeof verdict === 'object') return { blocking: verdict }
    if (verdict === 'stays') continue
    if (verdict === 'waits') move.onCompletion.push(info)
    else if (isDaemonSetPod(info.pod)) move.daemonPods.push(info)
    else move.pods.push(info)
  }
  return move
}

/** The order matters: what comes first decides. */
function verdictOn(info: PodInfo, context: DrainContext): Blocking | 'moves' | 'stays' | 'waits' {
  const { pod } = info
  const { options, budgets, nowMs } = context
  if (isMirrorPod(pod) || isLongTerminating(pod, nowMs)) return 'stays'
  const block = (reason: BlockingReason, message: string): Blocking => ({ pod, reason, message })
  const where = `${info.namespace}/${info.name}`
  if (options.skipNodesWithCustomControllerPods) {
    const missing = ownerObjection(info, context)
    if (missing !== undefined) return block(...missing)
  }
  const annotation = pod.metadata.annotations?.[safeToEvict]
  if (isDaemonSetPod(pod) || annotation === 'true' || isTerminal(pod)) return 'moves'
  if (annotation === 'on-completion') return 'waits'
  const controller = controllerOf(pod)
  const isReplicated = controller !== undefined && (!options.skipNodesWithCustomControllerPods || replicatedKinds.has(controller.kind))
  if (!isReplicated) return block('NotReplicated', `${where} is not replicated`)
  if (options.skipNodesWithSystemPods && info.namespace === 'kube-system' && !budgets.hasBudget(info) && !isOld(pod, context))
    return block('UnmovableKubeSystemPod', `non-daemonset, non-mirrored, non-pdb-assigned kube-system pod present: ${info.name}`)
  if (annotation === 'false') return block('NotSafeToEvictAnnotation', `pod annotated as not safe to evict present: ${info.name}`)
  if (options.skipNodesWithLocalStorage && hasLocalStorage(pod))
    return block('LocalStorageRequested', `pod with local storage present: ${info.name}`)
  if (!budgets.allows(info)) return block('NotEnoughPdb', `not enough pod disruption budget to move ${where}`)
  return 'moves'
}

function ownerObjection({ pod, namespace, name }: PodInfo, { replicasOf, options }: DrainContext): [BlockingReason, string] | undefined {
  const owner = controllerOf(pod)
  if (owner === undefined) return undefined
  const replicas = replicasOf(owner.kind, owner.apiVersion, namespace, owner.name)
  if (replicas === 'unknown') return undefined
  const kind =
    owner.kind === 'ReplicaSet'
      ? 'replication controller'
      : owner.kind === 'ReplicationController'
        ? 'replication controller'
        : owner.kind.toLowerCase()
  if (replicas === undefined) return ['ControllerNotFound', `${kind} for ${namespace}/${name} is not available`]
  const isCounted = owner.kind === 'ReplicaSet' || owner.kind === 'ReplicationController'
  if (isCounted && replicas < options.minReplicaCount)
    return ['MinReplicasReached', `${kind} for ${namespace}/${name} has too few replicas spec: ${replicas} min: ${options.minReplicaCount}`]
  return undefined
}

function isTerminal({ spec, status }: V1Pod): boolean {
  const phase = status?.phase
  if (phase === 'Failed') return true
  return phase === 'Succeeded' && (spec.restartPolicy === 'Never' || spec.restartPolicy === 'OnFailure')
}

const isOld = ({ metadata }: V1Pod, { nowMs, options }: DrainContext): boolean =>
  metadata.creationTimestamp !== undefined && parseTime(metadata.creationTimestamp) + options.blockingSystemPodMs < nowMs

/** What would be lost with the node: directories that are no memory, and paths of the host. */
function hasLocalStorage({ metadata, spec }: V1Pod): boolean {
  const harmless = new Set((metadata.annotations?.[safeLocalVolumes] ?? '').split(','))
  return (spec.volumes ?? []).some(
    ({ name, emptyDir, hostPath }) =>
      !harmless.has(name) && (hostPath !== undefined || (emptyDir !== undefined && emptyDir.medium !== 'Memory')),
  )
}
