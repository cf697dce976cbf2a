/** From a pod that has a node in our mind to one that has it in the API server; runs beside the search for other pods. */
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { Extender } from '#scheduler/extender/extender.ts'
import type { Cycle } from '#scheduler/framework/cycle.ts'
import { Diagnosis, fitMessage } from '#scheduler/framework/fit-error.ts'
import type { SchedulerClient } from '#scheduler/framework/plugin-handle.ts'
import type { Profile } from '#scheduler/framework/profile.ts'
import { failed, isRejected, type Status } from '#scheduler/framework/status.ts'
import type { WaitingPods } from '#scheduler/framework/waiting-pods.ts'
import type { SchedulerMetrics } from '#scheduler/metrics.ts'
import type { QueuedPod } from '#scheduler/queue/queued-pod.ts'
import type { SchedulingQueue } from '#scheduler/queue/scheduling-queue.ts'

export type Binding = {
  readonly queued: QueuedPod
  readonly assumed: PodInfo
  readonly cycle: Cycle
  readonly profile: Profile
  readonly nodeName: string
  readonly startMs: number
}

export type BindingRoom = {
  readonly client: SchedulerClient
  readonly logger: Logger
  readonly clock: Clock
  readonly extenders: readonly Extender[]
  readonly cache: ClusterCache
  readonly queue: SchedulingQueue
  readonly waiting: WaitingPods
  readonly binding: Map<string, QueuedPod>
  readonly metrics: SchedulerMetrics
  /** While a pod waits for its binding, its status says where it will go. */
  readonly announcesNode: boolean
  fail(queued: QueuedPod, profile: Profile, status: Status, nominatedNode: string | undefined, startMs: number, diagnosis?: Diagnosis): void
}

export async function bindPod(binding: Binding, room: BindingRoom): Promise<void> {
  room.metrics.goroutines.add(1, { operation: 'binding' })
  try {
    await bindOrTakeBack(binding, room)
  } finally {
    room.metrics.goroutines.add(-1, { operation: 'binding' })
  }
}

async function bindOrTakeBack(binding: Binding, room: BindingRoom): Promise<void> {
  const { assumed, cycle, profile, nodeName } = binding
  let status: Status | undefined
  try {
    // Up to here nobody else had a turn: the next pod is tried when this one's room and volumes are taken.
    const refused = profile.reserve(cycle, assumed, nodeName) ?? permit(binding, room)
    if (refused !== undefined) {
      takeBack(binding, room, refused)
      return
    }
    if (room.waiting.isWaiting(assumed.uid) || profile.takesTimeToBind(cycle, nodeName)) await announce(binding, room)
    if (room.waiting.isWaiting(assumed.uid)) status = await permitted(binding, room)
    if (status === undefined) {
      // From here on nothing can make the pod unschedulable, so what happens meanwhile need not be remembered for it.
      room.queue.done(assumed.uid)
      status = await profile.preBind(cycle, assumed, nodeName, new AbortController().signal)
    }
    status ??= await bind(binding, room)
  } catch (error) {
    status = failed(error)
  }
  if (status === undefined) finish(binding, room)
  else takeBack(binding, room, status)
}

/** Others, such as those who add nodes, learn that the pod needs no more than what it is about to get. */
async function announce({ assumed, nodeName }: Binding, { client, logger, announcesNode }: BindingRoom): Promise<void> {
  if (!announcesNode || assumed.pod.status?.nominatedNodeName === nodeName) return
  try {
    await client.patchPodStatus(assumed.pod, { nominatedNodeName: nodeName })
  } catch (error) {
    logger.warn('failed to bind pod', { pod: `${assumed.namespace}/${assumed.name}`, node: nodeName, error: String(error) })
  }
}

function permit({ assumed, cycle, profile, nodeName }: Binding, { waiting }: BindingRoom): Status | undefined {
  const answer = profile.permit(cycle, assumed, nodeName)
  if (answer === undefined || 'code' in answer) return answer
  waiting.hold(assumed.uid, answer)
  return undefined
}

async function permitted({ assumed }: Binding, { waiting, clock, metrics }: BindingRoom): Promise<Status | undefined> {
  const startMs = clock.monotonic()
  const status = await waiting.settled(assumed.uid)
  metrics.permitWait.observe((clock.monotonic() - startMs) / 1000, { result: status?.code ?? 'Success' })
  return status
}

async function bind({ assumed, cycle, profile, nodeName }: Binding, { extenders, logger }: BindingRoom): Promise<Status | undefined> {
  for (const extender of extenders) {
    if (!extender.binds || !extender.isInterested(assumed)) continue
    try {
      await extender.bind(assumed, nodeName)
      return undefined
    } catch (error) {
      if (!extender.isIgnorable) return failed(error)
      logger.info('scheduler extender failed, ignoring it', { extender: extender.name, error: String(error) })
    }
  }
  return profile.bind(cycle, assumed, nodeName)
}

function finish({ queued, assumed, cycle, profile, nodeName, startMs }: Binding, { client, clock, metrics, binding }: BindingRoom): void {
  binding.delete(assumed.uid)
  const { schedulerName } = profile
  client.recordEvent({
    regarding: assumed.pod,
    type: 'Normal',
    reason: 'Scheduled',
    action: 'Binding',
    note: `Successfully assigned ${assumed.namespace}/${assumed.name} to ${nodeName}`,
    reportingController: schedulerName,
  })
  metrics.attempts.inc({ profile: schedulerName, result: 'scheduled' })
  metrics.attemptDuration.observe((clock.monotonic() - startMs) / 1000, { profile: schedulerName, result: 'scheduled' })
  metrics.attemptsPerPod.observe(queued.attempts)
  const attempts = queued.attempts >= 15 ? '15+' : `${queued.attempts}`
  if (queued.firstAttemptAtMs !== undefined) metrics.podDuration.observe((clock.now() - queued.firstAttemptAtMs) / 1000, { attempts })
  if (queued.wasFlushed) metrics.scheduledAfterFlush.inc()
  profile.postBind(cycle, assumed, nodeName)
}

/** The room it took is free again: others may fit now. */
function takeBack({ queued, assumed, cycle, profile, nodeName, startMs }: Binding, room: BindingRoom, status: Status): void {
  const { cache, queue, binding } = room
  profile.unreserve(cycle, assumed, nodeName)
  const wasOurs = cache.forget(assumed.uid)
  const isStillThere = binding.delete(assumed.uid)
  // Bound by somebody after all, or gone: nothing is left to be done for it.
  if (!wasOurs || !isStillThere) {
    queue.done(assumed.uid)
    return
  }
  queue.restore(queued)
  if (isRejected(status)) {
    const diagnosis = new Diagnosis()
    diagnosis.nodeStatuses.set(nodeName, status)
    diagnosis.note(status)
    room.fail(queued, profile, { ...status, reasons: [fitMessage(1, diagnosis)] }, '', startMs, diagnosis)
  } else room.fail(queued, profile, status, '', startMs)
  // After it is back in the queue, where what it left behind itself must not wake it.
  const isOther = ({ uid }: PodInfo) => uid !== assumed.uid
  queue.move({ resource: 'Pod', action: 'Delete', before: assumed.pod, label: 'AssignedPodDelete' }, isOther)
}
