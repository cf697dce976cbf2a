/** Tells the API how pods stand: the latest of each pod arrives, never an older one after a newer one. */

import { isDeepStrictEqual } from 'node:util'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { isConflict, isNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { isOlderVersion } from '#client/resource-version.ts'
import { exponentialRateLimiter } from '#client/work-queue/rate-limiter.ts'
import { WorkQueue } from '#client/work-queue/work-queue.ts'
import { ownConditions } from '#kubelet/pod-worker/pod-conditions.ts'
import { mirrorAnnotation } from '#kubelet/sources/pod-source.ts'

export type StatusManagerOptions = {
  client: Client
  clock: Clock
  logger: Logger
  /** The pod as it was last seen; the API is asked when it is missing or outdated. */
  knownPod(namespace: string, name: string): V1Pod | undefined
}

type PodStatusState = {
  namespace: string
  name: string
  status: V1PodStatus
  /** Its containers have ended after it was deleted: the object may go. */
  mayGo: boolean
  /** The version of the object after the status was written last. */
  writtenVersion?: string
}

const writers = 4

export class StatusManager {
  readonly #options: StatusManagerOptions
  readonly #queue: WorkQueue
  readonly #statuses = new Map<string, PodStatusState>()

  constructor(options: StatusManagerOptions) {
    this.#options = options
    this.#queue = new WorkQueue({ clock: options.clock, rateLimiter: exponentialRateLimiter({ baseMs: 50, maxMs: 10_000 }) })
  }

  start(): void {
    for (let writer = 0; writer < writers; writer++) void this.#write()
  }

  /** Takes the place of what was told of the pod before and is not written yet. */
  tell({ metadata }: V1Pod, status: V1PodStatus, isOver: boolean): void {
    const { uid = '', namespace = '', name = '', deletionTimestamp } = metadata
    const mayGo = isOver && deletionTimestamp !== undefined
    const before = this.#statuses.get(uid)
    if (before !== undefined && before.mayGo === mayGo && isDeepStrictEqual(before.status, status)) return
    const { writtenVersion } = before ?? {}
    this.#statuses.set(uid, { namespace, name, status, mayGo, ...defined({ writtenVersion }) })
    this.#queue.add(uid)
  }

  /** The object as the API has it now: others may have overwritten what was told. */
  compare(pod: V1Pod): void {
    const { uid = '', resourceVersion = '' } = pod.metadata
    const told = this.#statuses.get(uid)
    if (told?.writtenVersion === undefined || isOlderVersion(resourceVersion, told.writtenVersion)) return
    if (!isDeepStrictEqual(mergedStatus(pod.status ?? {}, told.status), pod.status)) this.#queue.add(uid)
  }

  /** What was told last is told again: there was no object to hold it, and now there is. */
  again(uid: string): void {
    if (this.#statuses.has(uid)) this.#queue.add(uid)
  }

  /** The API has the pod no more. */
  forget(uid: string): void {
    this.#statuses.delete(uid)
    this.#queue.forget(uid)
  }

  /** How many statuses are on their way. */
  get pending(): number {
    return this.#queue.depth + this.#queue.delayed
  }

  stop(): void {
    this.#queue.shutDown()
  }

  async #write(): Promise<void> {
    for (;;) {
      const uid = await this.#queue.get()
      if (uid === undefined) return
      try {
        const told = this.#statuses.get(uid)
        if (told !== undefined) await this.#bring(uid, told)
        this.#queue.forget(uid)
      } catch (error) {
        this.#options.logger.debug('failed to update pod status', { uid, error: String(error) })
        this.#queue.addRateLimited(uid)
      } finally {
        this.#queue.done(uid)
      }
    }
  }

  async #bring(uid: string, told: PodStatusState): Promise<void> {
    const { client, knownPod } = this.#options
    const { namespace, name, status, mayGo } = told
    try {
      const known = knownPod(namespace, name)
      let written = known !== undefined && isOf(uid, known) ? await this.#update(known, status).catch(outdated) : undefined
      if (written === undefined) {
        const pod = await client.get(Pod, namespace, name)
        // Another pod of the same name: ours is gone.
        if (!isOf(uid, pod)) return
        written = await this.#update(pod, status)
      }
      const latest = this.#statuses.get(uid)
      if (latest !== undefined && written.metadata.resourceVersion) latest.writtenVersion = written.metadata.resourceVersion
      if (mayGo) await client.delete(Pod, { namespace, name }, { gracePeriodSeconds: 0, uid })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  async #update(pod: V1Pod, status: V1PodStatus): Promise<V1Pod> {
    const next = mergedStatus(pod.status ?? {}, status)
    if (isDeepStrictEqual(next, pod.status)) return pod
    return this.#options.client.updateStatus(Pod, { ...pod, status: next })
  }
}

/** Static pods are told of through their mirrors. */
const isOf = (uid: string, { metadata }: V1Pod): boolean => metadata.uid === uid || metadata.annotations?.[mirrorAnnotation] === uid

function outdated(error: unknown): undefined {
  if (!isConflict(error)) throw error
  return undefined
}

/** Conditions and fields of others stay as the API has them. */
export function mergedStatus(present: V1PodStatus, told: V1PodStatus): V1PodStatus {
  const { reason: _reason, message: _message, conditions = [], ...kept } = present
  // Whoever ends a pod before its time may say so; the node does when it was the one.
  const disruption = isTerminalPhase(told.phase) ? findCondition(told.conditions, disruptionTarget) : undefined
  const others = conditions.filter(({ type }) => !ownConditions.includes(type))
  return {
    ...kept,
    ...told,
    conditions: [
      ...others.map((condition) => (condition.type === disruptionTarget ? (disruption ?? condition) : condition)),
      ...(disruption !== undefined && !others.some(({ type }) => type === disruptionTarget) ? [disruption] : []),
      ...(told.conditions ?? []).filter(({ type }) => ownConditions.includes(type)),
    ],
  }
}

const disruptionTarget = 'DisruptionTarget'
