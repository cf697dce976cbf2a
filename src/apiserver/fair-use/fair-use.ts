/** Refuses what is more than fair. */
import { forbidden, requestEntityTooLarge, tooManyRequests } from '#api/meta/status-error.ts'
import type { FairUseLimits } from '#apiserver/fair-use/limits.ts'
import type { Counter, Metrics } from '#base/metrics.ts'

type Resource = { group: string; plural: string }

/** Counts what clients hold, and refuses what is too much, with the name of the limit. */
export class FairUse {
  readonly limits: FairUseLimits
  readonly #refusals: Counter
  readonly #watches = new Map<string, number>()

  /** `others` are kept elsewhere, and are only to be shown. */
  constructor(limits: FairUseLimits, metrics: Metrics, others: Readonly<Record<string, number>> = {}) {
    this.limits = limits
    this.#refusals = metrics.counter('apiserver_fair_use_refusals_total', 'Requests refused because a limit on fair use was reached')
    const { entries, bodyBytesOf, measuresCost: _, ...own } = limits
    const shown = { ...own, ...others, entriesInOne: entries.inOne, entriesInAll: entries.inAll }
    const values: (readonly [Record<string, string>, number])[] = [
      ...Object.entries(shown).map(([limit, value]) => [{ limit: snakeCase(limit) }, value] as const),
      ...Object.entries(bodyBytesOf).map(([resource, value]) => [{ limit: 'body_bytes_of', resource }, value] as const),
    ]
    metrics.measured('apiserver_fair_use_limit', 'The limits on fair use; 0: none', () => values)
  }

  bodyBytesFor({ group, plural }: Resource): number {
    const { bodyBytes, bodyBytesOf } = this.limits
    return bodyBytesOf[group === '' ? plural : `${plural}.${group}`] ?? bodyBytesOf[plural] ?? bodyBytes
  }

  /** `count` is how many there are already. */
  requireRoomInNamespace({ group, plural }: Resource, namespace: string, name: string, count: number): void {
    const limit = this.limits.objectsPerNamespace
    if (limit === 0 || namespace === '' || count < limit) return
    this.#refusals.inc({ limit: 'objects_per_namespace' })
    throw forbidden(
      { group, resource: plural },
      name,
      `namespace ${namespace} holds ${count} of them, and --max-objects-per-namespace is ${limit}`,
    )
  }

  requireShortList(count: number): void {
    const limit = this.limits.listItems
    if (limit === 0 || count <= limit) return
    this.#refusals.inc({ limit: 'list_items' })
    throw requestEntityTooLarge(`the list has ${count} items, and --max-list-items is ${limit}; ask for pages with limit and continue`)
  }

  /** To be disposed when the watch ends. */
  watch(user: string): Disposable {
    const limit = this.limits.watchesPerClient
    const open = this.#watches.get(user) ?? 0
    if (limit > 0 && open >= limit) {
      this.#refusals.inc({ limit: 'watches_per_client' })
      throw tooManyRequests(`user ${user} has ${open} watches open, and --max-watches-per-client is ${limit}`, 10)
    }
    this.#watches.set(user, open + 1)
    let isOpen = true
    return {
      [Symbol.dispose]: () => {
        if (!isOpen) return
        isOpen = false
        const left = (this.#watches.get(user) ?? 1) - 1
        if (left === 0) this.#watches.delete(user)
        else this.#watches.set(user, left)
      },
    }
  }
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
