import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

type Budget = { allowed: number; matches(pod: PodInfo): boolean }

/** Disruption budgets, and what is left of them while nodes are emptied in thought. */
export class RemainingBudgets {
  readonly #byNamespace: ReadonlyMap<string, readonly Budget[]>

  constructor(budgets: readonly V1PodDisruptionBudget[]) {
    const entries = budgets.map(({ metadata, spec, status }) => {
      const selector = labelSelectorFrom(spec?.selector)
      const budget: Budget = { allowed: status?.disruptionsAllowed ?? 0, matches: ({ pod }) => selector.matches(pod.metadata.labels ?? {}) }
      return { namespace: metadata?.namespace ?? '', budget }
    })
    const grouped = Map.groupBy(entries, ({ namespace }) => namespace)
    this.#byNamespace = new Map([...grouped].map(([namespace, each]) => [namespace, each.map(({ budget }) => budget)]))
  }

  #of(pod: PodInfo): Budget[] {
    return (this.#byNamespace.get(pod.namespace) ?? []).filter((budget) => budget.matches(pod))
  }

  hasBudget(pod: PodInfo): boolean {
    return this.#of(pod).length > 0
  }

  allows(pod: PodInfo): boolean {
    return this.#of(pod).every(({ allowed }) => allowed >= 1)
  }

  /** Whether all of them may go at the same time. */
  allowsTogether(pods: readonly PodInfo[]): boolean {
    const asked = new Map<Budget, number>()
    for (const pod of pods) for (const budget of this.#of(pod)) asked.set(budget, (asked.get(budget) ?? 0) + 1)
    return [...asked].every(([{ allowed }, count]) => count <= allowed)
  }

  take(pods: readonly PodInfo[]): void {
    for (const pod of pods) for (const budget of this.#of(pod)) budget.allowed--
  }
}
