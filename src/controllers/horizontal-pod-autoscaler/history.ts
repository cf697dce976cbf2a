import type { V2HPAScalingPolicy, V2HPAScalingRules } from '#api/autoscaling/v2/types.gen.ts'
import { largest } from '#base/append.ts'

type Recommendation = { replicas: number; atMs: number }
type Change = { by: number; atMs: number }
export type Limited = { replicas: number; reason: string; message: string }

const withinRange = { reason: 'DesiredWithinRange', message: 'the desired count is within the acceptable range' }
const tooFew = { reason: 'TooFewReplicas', message: 'the desired replica count is less than the minimum replica count' }
const tooMany = { reason: 'TooManyReplicas', message: 'the desired replica count is more than the maximum replica count' }
const tooFast = { reason: 'ScaleUpLimit', message: 'the desired replica count is increasing faster than the maximum scale rate' }
const tooFastDown = { reason: 'ScaleDownLimit', message: 'the desired replica count is decreasing faster than the maximum scale rate' }

/** What was recommended and done lately for one autoscaler: it keeps replicas from going up and down with every measurement. */
export class History {
  #recommendations: Recommendation[] = []
  #ups: Change[] = []
  #downs: Change[] = []

  begin(replicas: number, atMs: number): void {
    if (this.#recommendations.length === 0) this.#recommendations.push({ replicas, atMs })
  }

  /** The highest of what was recommended within the window. */
  highestSince(desired: number, nowMs: number, windowMs: number): number {
    const recent = this.#recommendations.filter(({ atMs }) => atMs >= nowMs - windowMs)
    this.#recommendations = [...recent, { replicas: desired, atMs: nowMs }]
    return largest(
      desired,
      recent.map(({ replicas }) => replicas),
    )
  }

  /** As close to what is as the recommendations of both windows allow. */
  stabilized(desired: number, current: number, nowMs: number, windowsMs: { up: number; down: number }): number {
    const since = (windowMs: number) => this.#recommendations.filter(({ atMs }) => atMs > nowMs - windowMs).map(({ replicas }) => replicas)
    const lowest = -largest(
      -desired,
      since(windowsMs.up).map((replicas) => -replicas),
    )
    const highest = largest(desired, since(windowsMs.down))
    const keepMs = Math.max(windowsMs.up, windowsMs.down)
    this.#recommendations = this.#recommendations.filter(({ atMs }) => atMs >= nowMs - keepMs)
    this.#recommendations.push({ replicas: desired, atMs: nowMs })
    return Math.min(Math.max(current, lowest), highest)
  }

  /** Remembered for as long as any policy of the direction looks back. */
  changed(from: number, to: number, nowMs: number, rules: V2HPAScalingRules | undefined): void {
    const longestMs =
      1000 *
      largest(
        0,
        (rules?.policies ?? []).map(({ periodSeconds }) => periodSeconds),
      )
    const kept = (changes: readonly Change[]) => changes.filter(({ atMs }) => atMs >= nowMs - longestMs)
    if (to > from) this.#ups = [...kept(this.#ups), { by: to - from, atMs: nowMs }]
    else this.#downs = [...kept(this.#downs), { by: from - to, atMs: nowMs }]
  }

  #startOfPeriod(current: number, { periodSeconds }: V2HPAScalingPolicy, nowMs: number): number {
    const sum = (changes: readonly Change[]) =>
      changes.filter(({ atMs }) => atMs > nowMs - periodSeconds * 1000).reduce((total, { by }) => total + by, 0)
    return current - sum(this.#ups) + sum(this.#downs)
  }

  #upLimit(current: number, { policies = [], selectPolicy }: V2HPAScalingRules, nowMs: number): number {
    if (selectPolicy === 'Disabled') return current
    const limits = policies.map((policy) => {
      const start = this.#startOfPeriod(current, policy, nowMs)
      return policy.type === 'Pods' ? start + policy.value : Math.ceil(start * (1 + policy.value / 100))
    })
    return Math.max(current, selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits))
  }

  #downLimit(current: number, { policies = [], selectPolicy }: V2HPAScalingRules, nowMs: number): number {
    if (selectPolicy === 'Disabled') return current
    const limits = policies.map((policy) => {
      const start = this.#startOfPeriod(current, policy, nowMs)
      return policy.type === 'Pods' ? start - policy.value : Math.trunc(start * (1 - policy.value / 100))
    })
    return Math.min(current, selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits))
  }

  /** Within the bounds of the autoscaler, and no faster than its policies allow. */
  limitedByPolicies(
    desired: number,
    current: number,
    bounds: { least: number; most: number },
    rules: { up: V2HPAScalingRules; down: V2HPAScalingRules },
    nowMs: number,
  ): Limited {
    if (desired > current) {
      const limit = this.#upLimit(current, rules.up, nowMs)
      const allowed = Math.min(bounds.most, limit)
      if (desired > allowed) return { replicas: allowed, ...(bounds.most > limit ? tooFast : tooMany) }
    } else if (desired < current) {
      const limit = this.#downLimit(current, rules.down, nowMs)
      const allowed = Math.max(bounds.least, limit)
      if (desired < allowed) return { replicas: allowed, ...(bounds.least < limit ? tooFastDown : tooFew) }
    }
    return { replicas: desired, ...withinRange }
  }
}

/** Within the bounds, and at most twice of what is, or four. */
export function limitedByDefault(desired: number, current: number, { least, most }: { least: number; most: number }): Limited {
  const limit = Math.max(2 * current, 4)
  if (desired < least) return { replicas: least, ...tooFew }
  const allowed = Math.min(most, limit)
  if (desired > allowed) return { replicas: allowed, ...(most > limit ? tooFast : tooMany) }
  return { replicas: desired, ...withinRange }
}
