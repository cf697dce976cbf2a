/** How much processor time is used a second, from counters that are looked at now and then. */
import type { GroupUsage, NodeUsage } from '#kubelet/stats/usage.ts'

type Look = { timeMs: number; usageNanos: number; nanoCores?: number }

/** Two looks that are nearer to each other than this say little. */
const shortestMs = 1000
/** What was seen longer ago says nothing of now. */
const oldestMs = 60_000

export class CpuRates {
  #looks = new Map<string, Look>()

  /** Whether rates can be told once this has been seen. */
  see(usage: NodeUsage): boolean {
    const before = this.#looks
    this.#looks = new Map()
    this.#add('node', usage.whole, before)
    for (const each of usage.systemContainers) this.#add(`system/${each.name}`, each, before)
    for (const { uid, whole, containers } of usage.pods) {
      this.#add(uid, whole, before)
      for (const container of containers) this.#add(`${uid}/${container.id}`, container, before)
    }
    return this.of('node') !== undefined
  }

  /** Billionths of a core. */
  of(key: string): number | undefined {
    return this.#looks.get(key)?.nanoCores
  }

  #add(key: string, { timeMs, cpu: { usageNanos } }: GroupUsage, before: ReadonlyMap<string, Look>): void {
    const last = before.get(key)
    const isUsable = last !== undefined && timeMs - last.timeMs <= oldestMs && usageNanos >= last.usageNanos
    if (!isUsable) this.#looks.set(key, { timeMs, usageNanos })
    else if (timeMs - last.timeMs < shortestMs) this.#looks.set(key, last)
    else {
      const nanoCores = Math.round(((usageNanos - last.usageNanos) * 1000) / (timeMs - last.timeMs))
      this.#looks.set(key, { timeMs, usageNanos, nanoCores })
    }
  }
}
