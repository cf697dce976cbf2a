import { ResourceQuota } from '#api/core/v1/kinds.gen.ts'
import { quantityTexts } from '#api/core/v1/quota/quantities.ts'
import type { V1ResourceQuota } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { type QuotaState, quotaState } from '#apiserver/admission/resource-quota/quota-state.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

/** Something that wants to use a part of the quotas of a namespace. */
export type Charge = {
  readonly isDryRun: boolean
  /** The quotas after it, the same list if it uses nothing; throws if there is no room. */
  check(states: readonly QuotaState[]): readonly QuotaState[]
}

type Waiting = Charge & { accept(): void; refuse(error: unknown): void }

const writeAttempts = 10
/** Quotas that were deleted leave their last write behind. */
const mostRemembered = 1000

/**
 * Keeps the books of what is used, in the status of the quotas.
 *
 * Charges of one namespace are looked at one after the other, each with those before it counted in, and written together: while
 * one write is under way the next ones gather. A write that was overtaken by somebody else's is repeated on the newer quota, so
 * that what was accepted is always in the store before its object is.
 */
export class QuotaLedger {
  readonly #cluster: ClusterView
  readonly #waiting = new Map<string, Waiting[]>()
  /** Our own last writes, until the cache has them. */
  readonly #written = new Map<string, V1ResourceQuota>()

  constructor(cluster: ClusterView) {
    this.#cluster = cluster
  }

  hasQuotas(namespace: string): boolean {
    return this.#cluster.list(ResourceQuota, namespace).length > 0
  }

  /** Resolves once the charge is written; rejects with why it is refused. */
  charge(namespace: string, charge: Charge): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting: Waiting = { isDryRun: charge.isDryRun, check: (states) => charge.check(states), accept: resolve, refuse: reject }
    const queue = this.#waiting.get(namespace)
    if (queue !== undefined) queue.push(waiting)
    else {
      this.#waiting.set(namespace, [waiting])
      void this.#work(namespace)
    }
    return promise
  }

  async #work(namespace: string): Promise<void> {
    // Requests of the same turn come together.
    await undefined
    for (let queue = this.#waiting.get(namespace); queue !== undefined && queue.length > 0; queue = this.#waiting.get(namespace)) {
      this.#waiting.set(namespace, [])
      try {
        await this.#settle(namespace, queue)
      } catch (error) {
        for (const { refuse } of queue) refuse(error)
      }
    }
    this.#waiting.delete(namespace)
  }

  async #settle(namespace: string, charges: readonly Waiting[]): Promise<void> {
    let undecided = charges
    let states: readonly QuotaState[] = this.#quotas(namespace).map(quotaState)
    for (let attempt = 1; ; attempt++) {
      const before = states
      const fitting: Waiting[] = []
      for (const charge of undecided) {
        try {
          const after = charge.check(states)
          if (charge.isDryRun || after === states) charge.accept()
          else {
            states = after
            fitting.push(charge)
          }
        } catch (error) {
          charge.refuse(error)
        }
      }
      const failures = await this.#writeChanged(before, states)
      if (failures.length === 0 || attempt === writeAttempts) {
        for (const { accept, refuse } of fitting) failures[0] === undefined ? accept() : refuse(failures[0].error)
        return
      }
      // What was written stays written: only the other quotas have to be asked again.
      const newer = await Promise.all(failures.map(({ quota }) => this.#fresh(quota)))
      states = newer.filter((quota) => quota !== undefined).map(quotaState)
      undecided = fitting
    }
  }

  async #writeChanged(before: readonly QuotaState[], after: readonly QuotaState[]): Promise<{ quota: V1ResourceQuota; error: unknown }[]> {
    const failures: { quota: V1ResourceQuota; error: unknown }[] = []
    for (const [index, state] of after.entries()) {
      if (state === before[index]) continue
      const { quota, used } = state
      try {
        const next: V1ResourceQuota = { ...deepCopy(quota), status: { ...quota.status, used: quantityTexts(used) } }
        this.#remember(await this.#cluster.replaceStatus(ResourceQuota, next))
      } catch (error) {
        failures.push({ quota, error })
      }
    }
    return failures
  }

  #remember(quota: V1ResourceQuota): void {
    this.#written.set(keyOf(quota), quota)
    const [oldest] = this.#written.keys()
    if (this.#written.size > mostRemembered && oldest !== undefined) this.#written.delete(oldest)
  }

  #quotas(namespace: string): V1ResourceQuota[] {
    return this.#cluster.list(ResourceQuota, namespace).map((cached) => this.#newest(cached))
  }

  #newest(cached: V1ResourceQuota): V1ResourceQuota {
    const written = this.#written.get(keyOf(cached))
    if (written === undefined) return cached
    if (revisionOf(cached) < revisionOf(written)) return written
    this.#written.delete(keyOf(cached))
    return cached
  }

  async #fresh({ metadata }: V1ResourceQuota): Promise<V1ResourceQuota | undefined> {
    const { namespace = '', name = '' } = metadata
    const found = await this.#cluster.getFresh(ResourceQuota, namespace, name)
    return found && this.#newest(found)
  }
}

const keyOf = ({ metadata }: V1ResourceQuota): string => `${metadata.namespace}/${metadata.name}`
const revisionOf = ({ metadata }: V1ResourceQuota): number => Number(metadata.resourceVersion ?? 0)
