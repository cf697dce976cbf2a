/** Images of static pods in the API: made, made again when they are deleted or outdated, and removed with what they mirror. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { ignoreAlreadyExists, isConflict, isNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Client } from '#client/client.ts'
import { exponentialRateLimiter } from '#client/work-queue/rate-limiter.ts'
import { WorkQueue } from '#client/work-queue/work-queue.ts'
import { hashAnnotation, mirrorAnnotation } from '#kubelet/sources/pod-source.ts'

export type MirrorPodsOptions = {
  client: Client
  clock: Clock
  logger: Logger
  node: string
  /** Known once the node is registered. */
  nodeUid(): string | undefined
  /** The pod's mirror is there, and can show its status. */
  onMirror(staticUid: string): void
}

export class MirrorPods {
  readonly #options: MirrorPodsOptions
  readonly #queue: WorkQueue
  /** By namespace and name. */
  readonly #wanted = new Map<string, V1Pod>()
  readonly #mirrors = new Map<string, V1Pod>()

  constructor(options: MirrorPodsOptions) {
    this.#options = options
    this.#queue = new WorkQueue({ clock: options.clock, rateLimiter: exponentialRateLimiter({ baseMs: 200, maxMs: 10_000 }) })
  }

  /** Begins to write; before, it only takes note. */
  start(): void {
    void this.#work()
  }

  stop(): void {
    this.#queue.shutDown()
  }

  want(pod: V1Pod): void {
    this.#wanted.set(keyOf(pod), pod)
    this.#queue.add(keyOf(pod))
  }

  release(pod: V1Pod): void {
    if (this.#wanted.get(keyOf(pod))?.metadata.uid === pod.metadata.uid) this.#wanted.delete(keyOf(pod))
    this.#queue.add(keyOf(pod))
  }

  sees(mirror: V1Pod): void {
    this.#mirrors.set(keyOf(mirror), mirror)
    this.#queue.add(keyOf(mirror))
    const staticUid = mirror.metadata.annotations?.[mirrorAnnotation]
    if (staticUid !== undefined) this.#options.onMirror(staticUid)
  }

  misses(mirror: V1Pod): void {
    if (this.#mirrors.get(keyOf(mirror))?.metadata.uid === mirror.metadata.uid) this.#mirrors.delete(keyOf(mirror))
    this.#queue.add(keyOf(mirror))
  }

  async #work(): Promise<void> {
    for (;;) {
      const key = await this.#queue.get()
      if (key === undefined) return
      try {
        await this.#bring(key)
        this.#queue.forget(key)
      } catch (error) {
        this.#options.logger.debug('failed to sync mirror pod', { pod: key, error: String(error) })
        this.#queue.addRateLimited(key)
      } finally {
        this.#queue.done(key)
      }
    }
  }

  async #bring(key: string): Promise<void> {
    const { client, node, nodeUid } = this.#options
    const wanted = this.#wanted.get(key)
    const mirror = this.#mirrors.get(key)
    if (mirror !== undefined) {
      const isCurrent = wanted !== undefined && mirror.metadata.annotations?.[mirrorAnnotation] === hashOf(wanted)
      if (isCurrent && !mirror.metadata.deletionTimestamp) return
      const { uid } = mirror.metadata
      await client.delete(Pod, mirror.metadata, { gracePeriodSeconds: 0, ...omitEmpty({ uid }) }).catch((error: unknown) => {
        if (!isNotFound(error) && !isConflict(error)) throw error
      })
      // Its end is told, and then it is made anew.
      return
    }
    if (wanted === undefined) return
    const uid = nodeUid()
    if (uid === undefined) throw new Error('the node is not registered yet')
    const { uid: _, resourceVersion: __, ...metadata } = wanted.metadata
    await client
      .create(Pod, {
        metadata: {
          ...metadata,
          annotations: { ...metadata.annotations, [mirrorAnnotation]: hashOf(wanted) },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid, controller: true }],
        },
        spec: wanted.spec,
      })
      .catch(ignoreAlreadyExists)
  }
}

const keyOf = ({ metadata }: V1Pod): string => `${metadata.namespace}/${metadata.name}`
const hashOf = ({ metadata }: V1Pod): string => metadata.annotations?.[hashAnnotation] ?? metadata.uid ?? ''
