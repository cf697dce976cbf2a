/** Pods with users of their own, as upstream counts them: that they were begun, and whether that went wrong. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Counter, Metrics } from '#base/metrics.ts'

export class UserNamespacedPods {
  readonly #started: Counter
  readonly #errors: Counter
  /** By uid: those of which no failure was counted since they were begun. */
  readonly #unfailed = new Set<string>()
  /** Containers that were made and not started yet, by id. */
  readonly #made = new Map<string, string>()

  constructor(metrics: Metrics) {
    this.#started = metrics.counter('kubelet_started_user_namespaced_pods_total', 'Pods with users of their own that were begun.')
    this.#errors = metrics.counter(
      'kubelet_started_user_namespaced_pods_errors_total',
      'Pods with users of their own that were begun and failed to start.',
    )
    this.#started.inc({}, 0)
    this.#errors.inc({}, 0)
  }

  async sandbox<T>(pod: V1Pod, run: () => Promise<T>): Promise<T> {
    if (pod.spec.hostUsers !== false) return run()
    const { uid = '' } = pod.metadata
    this.#started.inc()
    this.#unfailed.add(uid)
    return this.#watched(uid, run)
  }

  /** Resolves to the id of a container. */
  async creation(pod: V1Pod, create: () => Promise<string>): Promise<string> {
    if (pod.spec.hostUsers !== false) return create()
    const { uid = '' } = pod.metadata
    const id = await this.#watched(uid, create)
    this.#made.set(id, uid)
    return id
  }

  async start(containerId: string, start: () => Promise<void>): Promise<void> {
    const uid = this.#made.get(containerId)
    if (uid === undefined) return start()
    this.#made.delete(containerId)
    return this.#watched(uid, start)
  }

  forget(podUid: string): void {
    this.#unfailed.delete(podUid)
    for (const [id, uid] of this.#made) if (uid === podUid) this.#made.delete(id)
  }

  async #watched<T>(uid: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      if (this.#unfailed.delete(uid)) this.#errors.inc()
      throw error
    }
  }
}
