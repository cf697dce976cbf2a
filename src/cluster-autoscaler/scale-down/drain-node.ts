import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'
import type { AutoscalerMetrics } from '#cluster-autoscaler/metrics.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'

export type DrainParts = { client: Client; clock: Clock; events: EventRecorder; metrics: AutoscalerMetrics; options: AutoscalerOptions }

const retryMs = 10_000
const lookMs = 5000
const headroomMs = 30_000
const defaultGraceSeconds = 30

/** Evicts the pods and waits until they are gone; those of daemon sets are told to go and not waited for. Throws when pods stay. */
export async function drainNode(
  nodeName: string,
  pods: readonly V1Pod[],
  daemonPods: readonly V1Pod[],
  parts: DrainParts,
  signal: AbortSignal,
): Promise<void> {
  const { clock, options } = parts
  const untilMs = clock.monotonic() + options.maxPodEvictionMs
  const [results] = await Promise.all([
    Promise.all(pods.map((pod) => evicted(pod, parts, untilMs, signal))),
    Promise.all(daemonPods.map((pod) => evicted(pod, parts, 0, signal))),
  ])
  const failures = results.filter((failure) => failure !== undefined)
  for (const failure of results) parts.metrics.evictedPods.inc({ eviction_result: failure === undefined ? 'succeeded' : 'failed' })
  if (failures.length > 0) {
    const failed = pods.filter((_, index) => results[index] !== undefined)
    for (const pod of failed) parts.events.warning(Pod, pod, 'ScaleDownFailed', 'failed to delete pod for ScaleDown')
    throw new Error(`Failed to drain node ${nodeName}, due to following errors: ${failures.join('; ')}`)
  }
  await waitUntilGone(nodeName, pods, parts, signal)
}

/** Undefined when the server agreed, otherwise why not. A budget that allows none now may allow one later. */
async function evicted(
  pod: V1Pod,
  { client, clock, events, options }: DrainParts,
  untilMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace = '', name = '', uid = '' } = pod.metadata
  const asked = pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds
  const gracePeriodSeconds = Math.min(asked, options.maxGracefulTerminationSeconds)
  const deleteOptions = { gracePeriodSeconds, preconditions: { uid } }
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name }, deleteOptions }
  events.normal(Pod, pod, 'ScaleDown', 'deleting pod for node scale down')
  for (;;) {
    try {
      await client.subresource('POST', Pod, { namespace, name }, 'eviction', eviction)
      return undefined
    } catch (error) {
      if (isNotFound(error)) return undefined
      if (clock.monotonic() + retryMs > untilMs)
        return `failed to evict pod ${namespace}/${name} within allowed timeout (last error: ${errorMessage(error)})`
    }
    await clock.sleep(retryMs, signal)
  }
}

async function waitUntilGone(
  nodeName: string,
  pods: readonly V1Pod[],
  { client, clock, options }: DrainParts,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = clock.monotonic() + options.maxGracefulTerminationSeconds * 1000 + headroomMs
  const isThere = async ({ metadata: { namespace = '', name = '', uid } }: V1Pod): Promise<boolean> => {
    try {
      const now = await client.get(Pod, namespace, name)
      return now.metadata.uid === uid && now.spec.nodeName === nodeName
    } catch (error) {
      return !isNotFound(error)
    }
  }
  for (let left = pods; ; await clock.sleep(lookMs, signal)) {
    const still = await Promise.all(left.map(isThere))
    left = left.filter((_, index) => still[index])
    if (left.length === 0) return
    if (clock.monotonic() > untilMs) throw new Error(`Failed to drain node ${nodeName}: pods remaining after timeout`)
  }
}
