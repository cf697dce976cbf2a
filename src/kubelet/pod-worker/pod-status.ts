import { isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import { podLimits, podQosClass, podRequests, type Quantities } from '#api/core/v1/resources.ts'
import type { V1ContainerStatus, V1Pod, V1PodStatus, V1ResourceStatus } from '#api/core/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { containerStatuses } from '#kubelet/pod-worker/container-statuses.ts'
import { podConditions, type ResizeConditions } from '#kubelet/pod-worker/pod-conditions.ts'
import { type PodPhase, podPhase } from '#kubelet/pod-worker/pod-phase.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'
import { isRestartingAll } from '#kubelet/pod-worker/restart-all.ts'
import type { ObservedPod, ProbeResults } from '#kubelet/runtimes/runtime.ts'

export type PodStatusOptions = {
  observed: ObservedPod
  probes: ProbeResults
  waiting: ReadonlyMap<string, Waiting>
  /** What was told last; the API's when nothing was. */
  previous: V1PodStatus
  nowMs: number
  hostIps: readonly string[]
  isEnding: boolean
  /** No container runs, and none will. */
  isOver: boolean
  /** Why the pod was ended by its node. */
  failure?: { reason: string; message: string }
  /** Containers whose postStart hooks run. */
  hooking?: ReadonlySet<string>
  /** The whole pod is started anew, as the steps have it. */
  isRestartingAll?: boolean
  resize?: ResizeConditions
  /** How the devices of a container are. */
  resourceHealth?: (container: string) => V1ResourceStatus[]
}

/** What the API is told of a pod, from what the runtime shows of it. */
export function podStatus(pod: V1Pod, options: PodStatusOptions): V1PodStatus {
  const { observed, probes, waiting, previous, nowMs, hostIps, isEnding, isOver, failure } = options
  const nowText = formatTime(nowMs)
  const restartsAll = options.isRestartingAll ?? isRestartingAll(pod, observed, previous)
  const sources = { pod, observed, probes, waiting, isEnding, isOver, isRestartingAll: restartsAll, hooking: options.hooking ?? noIds }
  const inits = pod.spec.initContainers ?? []
  const initStatuses = containerStatuses(inits, true, { ...sources, previous: previous.initContainerStatuses ?? [] })
  const appStatuses = containerStatuses(pod.spec.containers, false, { ...sources, previous: previous.containerStatuses ?? [] })
  const ephemeral = pod.spec.ephemeralContainers ?? []
  const ephemeralStatuses = containerStatuses(ephemeral, false, { ...sources, previous: previous.ephemeralContainerStatuses ?? [] })
  const statuses = [...initStatuses, ...appStatuses]
  const phase = settledPhase(pod, failure === undefined ? podPhase(pod.spec, statuses, isEnding) : 'Failed', previous, isEnding, isOver)
  const sandbox = observed.sandboxes.find(({ isReady }) => isReady)
  const { reason, message } = failure !== undefined && isOver ? failure : phase === previous.phase ? previous : {}
  return {
    ...omitEmpty({ observedGeneration: pod.metadata.generation }),
    phase,
    conditions: podConditions(pod, {
      phase,
      statuses,
      hasSandbox: sandbox !== undefined,
      nowText,
      previous: previous.conditions ?? [],
      isRestartingAll: restartsAll,
      ...defined({ resize: options.resize }),
    }),
    ...omitEmpty({ message, reason }),
    ...hostAddresses(hostIps),
    ...podAddresses(pod, sandbox?.ips ?? [], hostIps, previous),
    startTime: previous.startTime ?? nowText,
    ...defined({ initContainerStatuses: inits.length > 0 ? initStatuses : undefined }),
    containerStatuses: withHealth(appStatuses, options.resourceHealth),
    ...defined({ ephemeralContainerStatuses: ephemeral.length > 0 ? ephemeralStatuses : undefined }),
    ...podResources(pod),
    qosClass: pod.status?.qosClass ?? podQosClass(pod),
  }
}

function withHealth(statuses: V1ContainerStatus[], healthOf: PodStatusOptions['resourceHealth']): V1ContainerStatus[] {
  if (healthOf === undefined) return statuses
  return statuses.map((status) => {
    const allocatedResourcesStatus = healthOf(status.name)
    return allocatedResourcesStatus.length === 0 ? status : { ...status, allocatedResourcesStatus }
  })
}

const noIds: ReadonlySet<string> = new Set()

function podResources({ spec }: V1Pod): Pick<V1PodStatus, 'resources' | 'allocatedResources'> {
  const requests = texts(podRequests(spec))
  const limits = texts(podLimits(spec))
  if (requests === undefined && limits === undefined) return {}
  const resources = defined({ requests, limits })
  return { resources, ...defined({ allocatedResources: requests }) }
}

function texts(quantities: Quantities): Record<string, string> | undefined {
  const entries = Object.entries(quantities).map(([name, quantity]) => [name, quantity.toString()] as const)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Nothing leaves an end once it was told, and an end is told only when nothing runs any more. */
function settledPhase({ status }: V1Pod, computed: PodPhase, previous: V1PodStatus, isEnding: boolean, isOver: boolean): PodPhase {
  if (isTerminalPhase(status?.phase)) return status.phase
  if (isTerminalPhase(previous.phase)) return previous.phase
  if (isTerminalPhase(computed)) return isOver ? computed : ((previous.phase as PodPhase | undefined) ?? 'Pending')
  // What never got to run has failed.
  return isEnding && isOver ? 'Failed' : computed
}

function hostAddresses(hostIps: readonly string[]): Pick<V1PodStatus, 'hostIP' | 'hostIPs'> {
  const [first] = hostIps
  return first === undefined ? {} : { hostIP: first, hostIPs: hostIps.map((ip) => ({ ip })) }
}

function podAddresses({ spec }: V1Pod, sandboxIps: readonly string[], hostIps: readonly string[], previous: V1PodStatus) {
  const ips = spec.hostNetwork ? hostIps : sandboxIps
  const [first] = ips
  // Addresses of pods that have ended stay to be read.
  if (first === undefined) return previous.podIP ? { podIP: previous.podIP, podIPs: previous.podIPs ?? [{ ip: previous.podIP }] } : {}
  return { podIP: first, podIPs: ips.map((ip) => ({ ip })) }
}
