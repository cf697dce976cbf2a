import { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import { findCondition, transitionTime } from '#api/meta/find-condition.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { ResourceClaim } from '#api/resource/v1/kinds.gen.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Client } from '#client/client.ts'
import { TokenBucket } from '#client/work-queue/rate-limiter.ts'
import type { SchedulerClient } from '#scheduler/framework/plugin-handle.ts'
import { inTurns } from '#scheduler/in-turns.ts'
import type { PodEvents } from '#scheduler/pod-events.ts'

/** So many requests are under way at a time. */
const writesAtOnce = 100

/** The scheduler's writes, as requests to an API server. */
export function schedulerClient(
  client: Client,
  events: PodEvents,
  clock: Clock,
  limit: { qps?: number; burst: number } = { burst: 0 },
): SchedulerClient {
  const turn = paced(inTurns(writesAtOnce), clock, limit)
  const placeOf = ({ metadata }: V1Pod) => ({ namespace: metadata.namespace, name: metadata.name })
  return {
    async bind(pod, nodeName) {
      const { namespace, name, uid } = pod.metadata
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name, uid }, target: { kind: 'Node', name: nodeName } }
      await turn(() => client.subresource('POST', Pod, placeOf(pod), 'binding', body))
    },
    async patchPodStatus(pod, { condition, nominatedNodeName }) {
      const status = {
        ...defined({ conditions: condition && [stamped(pod, condition, clock)] }),
        // The field goes away when it is set to null, and stays when it is set to ''.
        ...defined({
          nominatedNodeName: nominatedNodeName === undefined ? undefined : nominatedNodeName === '' ? null : nominatedNodeName,
        }),
      }
      await turn(() => client.patch(Pod, placeOf(pod), { status }, { subresource: 'status' }))
    },
    async deletePod(pod) {
      const { uid } = pod.metadata
      await turn(() => client.delete(Pod, placeOf(pod), uid === undefined ? {} : { uid }))
    },
    updateVolume: (volume) => turn(() => client.update(PersistentVolume, volume)),
    updateClaim: (claim) => turn(() => client.update(PersistentVolumeClaim, claim)),
    updateResourceClaim: (claim) => turn(() => client.update(ResourceClaim, claim)),
    updateResourceClaimStatus: (claim) => turn(() => client.updateStatus(ResourceClaim, claim)),
    removeReservation({ metadata }, podUid) {
      const { namespace, name, uid } = metadata ?? {}
      const patch = { metadata: { uid }, status: { reservedFor: [{ $patch: 'delete', uid: podUid }] } }
      return turn(() => client.patch(ResourceClaim, { namespace, name }, patch, { subresource: 'status' }))
    },
    recordEvent: (event) => events.record(event),
    isNotFound,
  }
}

type Turn = <T>(work: () => Promise<T>) => Promise<T>

/** No more than so many a second, whatever wants to be written. */
function paced(turn: Turn, clock: Clock, { qps, burst }: { qps?: number; burst: number }): Turn {
  if (qps === undefined || qps <= 0) return turn
  const bucket = new TokenBucket(clock, { perSecond: qps, burst: Math.max(burst, 1) })
  return (work) =>
    turn(async () => {
      const waitMs = bucket.reserveMs()
      if (waitMs > 0) await new Promise<void>((resolve) => clock.after(waitMs, resolve))
      return work()
    })
}

/** The time of the last change of its status stays while the status does. */
function stamped({ metadata, status }: V1Pod, condition: V1PodCondition, clock: Clock): V1PodCondition {
  const known = findCondition(status?.conditions, condition.type)
  return {
    lastProbeTime: null,
    ...condition,
    ...defined({ observedGeneration: metadata.generation }),
    lastTransitionTime: transitionTime(known, condition.status, formatTime(clock.now())),
  } as V1PodCondition
}
