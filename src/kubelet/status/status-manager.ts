/** Tells the API how pods stand: the latest of each pod arrives, never an older one after a newer one. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { isConflict, isInvalid, isNotFound } from '#api/meta/server-response.ts'
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
  /** The API has a status, so much after it was known. */
  onTold?(tookMs: number): void
}

type PodStatusState = {
  namespace: string
  name: string
  status: V1PodStatus
  sinceMs: number
  /** Its containers have ended after it was deleted: the object may go. */
  mayGo: boolean
  /** The version of the object after the status was written last. */
  writtenVersion?: string
  /** The object as that write left it, until it is known from elsewhere. */
  written?: V1Pod
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

  /** The status of the pod that was reported last. */
  lastReported(uid: string): V1PodStatus | undefined {
    return this.#statuses.get(uid)?.status
  }

  /** Takes the place of what was told of the pod before and is not written yet. */
  tell({ metadata }: V1Pod, status: V1PodStatus, isOver: boolean): void {
    const { uid = '', namespace = '', name = '', deletionTimestamp } = metadata
    const mayGo = isOver && deletionTimestamp !== undefined
    const before = this.#statuses.get(uid)
    if (before !== undefined && before.mayGo === mayGo && equalJson(before.status, status)) return
    const { writtenVersion, written } = before ?? {}
    const sinceMs = this.#options.clock.now()
    this.#statuses.set(uid, { namespace, name, status, sinceMs, mayGo, ...defined({ writtenVersion, written }) })
    this.#queue.add(uid)
  }

  /** The object as the API has it now: others may have overwritten what was told. */
  compare(pod: V1Pod): void {
    const { uid = '', resourceVersion = '' } = pod.metadata
    const entry = this.#statuses.get(uid)
    if (entry?.writtenVersion === undefined || isOlderVersion(resourceVersion, entry.writtenVersion)) return
    delete entry.written
    if (!equalJson(mergedStatus(pod.status ?? {}, entry.status), pod.status)) this.#queue.add(uid)
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
        const entry = this.#statuses.get(uid)
        if (entry !== undefined) {
          await this.#bring(uid, entry)
          this.#options.onTold?.(this.#options.clock.now() - entry.sinceMs)
        }
        this.#queue.forget(uid)
      } catch (error) {
        // What the server does not take will not be taken later either, unlike what does not reach it.
        this.#options.logger[isInvalid(error) ? 'warn' : 'debug']('failed to update pod status', { uid, error: String(error) })
        this.#queue.addRateLimited(uid)
      } finally {
        this.#queue.done(uid)
      }
    }
  }

  async #bring(uid: string, entry: PodStatusState): Promise<void> {
    const { client } = this.#options
    const { namespace, name, status, mayGo } = entry
    try {
      const known = this.#latestKnown(entry)
      let written = known !== undefined && isOf(uid, known) ? await this.#update(known, status).catch(outdated) : undefined
      if (written === undefined) {
        const pod = await client.get(Pod, namespace, name)
        // Another pod of the same name: ours is gone.
        if (!isOf(uid, pod)) return
        written = await this.#update(pod, status)
      }
      const latest = this.#statuses.get(uid)
      if (latest !== undefined && written.metadata.resourceVersion) {
        latest.writtenVersion = written.metadata.resourceVersion
        latest.written = written
      }
      if (mayGo) await client.delete(Pod, { namespace, name }, { gracePeriodSeconds: 0, uid })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /** A status that follows soon after another one is written before the watch has told of that: it would be refused. */
  #latestKnown({ namespace, name, written }: PodStatusState): V1Pod | undefined {
    const known = this.#options.knownPod(namespace, name)
    if (written === undefined || known === undefined) return known
    return isOlderVersion(known.metadata.resourceVersion ?? '', written.metadata.resourceVersion ?? '') ? written : known
  }

  async #update(pod: V1Pod, status: V1PodStatus): Promise<V1Pod> {
    const next = mergedStatus(pod.status ?? {}, status)
    if (equalJson(next, pod.status)) return pod
    return this.#options.client.updateStatus(Pod, { ...pod, status: next }, { onlyReadsAnswer: true })
  }
}

/** Static pods are told of through their mirrors. */
const isOf = (uid: string, { metadata }: V1Pod): boolean => metadata.uid === uid || metadata.annotations?.[mirrorAnnotation] === uid

function outdated(error: unknown): undefined {
  if (!isConflict(error)) throw error
  return undefined
}

/** Conditions and fields of others stay as the API has them. */
export function mergedStatus(present: V1PodStatus, reported: V1PodStatus): V1PodStatus {
  const { reason: _reason, message: _message, conditions = [], ...kept } = present
  // Whoever ends a pod before its time may say so; the node does when it was the one.
  const disruption = isTerminalPhase(reported.phase) ? findCondition(reported.conditions, disruptionTarget) : undefined
  const others = conditions.filter(({ type }) => !ownConditions.includes(type))
  return {
    ...kept,
    ...reported,
    conditions: [
      ...others.map((condition) => (condition.type === disruptionTarget ? (disruption ?? condition) : condition)),
      ...(disruption !== undefined && !others.some(({ type }) => type === disruptionTarget) ? [disruption] : []),
      ...(reported.conditions ?? []).filter(({ type }) => ownConditions.includes(type)),
    ],
  }
}

const disruptionTarget = 'DisruptionTarget'
