/** Which thresholds are met, since when, and what the node says about it: a pure function of what was and what is seen now. */
import { conditionOf, type Observation, type PressureCondition, type Signal } from '#kubelet/eviction/signals.ts'
import { amountOf, type Threshold } from '#kubelet/eviction/thresholds.ts'

export type PressureState = {
  /** Met before, and not won back by enough since. */
  met: readonly Threshold[]
  firstMetMs: ReadonlyMap<Threshold, number>
  lastSeenMs: ReadonlyMap<PressureCondition, number>
}

export const noPressure: PressureState = { met: [], firstMetMs: new Map(), lastSeenMs: new Map() }

export type Pressure = {
  state: PressureState
  conditions: PressureCondition[]
  /** For longer than their grace: something has to go. Memory first. */
  acting: Threshold[]
}

export function pressureNow(
  before: PressureState,
  thresholds: readonly Threshold[],
  observations: Readonly<Record<Signal, Observation>>,
  { nowMs, transitionMs }: { nowMs: number; transitionMs: number },
): Pressure {
  const isBelow = (threshold: Threshold, withReclaim: boolean) => {
    const { available, capacity } = observations[threshold.signal]
    const { value, minReclaim } = threshold
    const more = withReclaim && minReclaim !== undefined ? amountOf(minReclaim, capacity) : 0
    return available < amountOf(value, capacity) + more
  }
  const met = thresholds.filter((threshold) => isBelow(threshold, before.met.includes(threshold)))
  const firstMetMs = new Map(met.map((threshold) => [threshold, before.firstMetMs.get(threshold) ?? nowMs]))
  const lastSeenMs = new Map(before.lastSeenMs)
  for (const { signal } of met) lastSeenMs.set(conditionOf(signal), nowMs)
  // A condition stays for a while, so that it does not come and go.
  const conditions = [...lastSeenMs]
    .filter(([, seenMs]) => nowMs - seenMs < transitionMs || seenMs === nowMs)
    .map(([condition]) => condition)
  const acting = met
    .filter((threshold) => nowMs - (firstMetMs.get(threshold) ?? nowMs) >= threshold.graceMs)
    .toSorted((one, other) => Number(other.signal === 'memory.available') - Number(one.signal === 'memory.available'))
  return {
    state: { met, firstMetMs, lastSeenMs: new Map([...lastSeenMs].filter(([condition]) => conditions.includes(condition))) },
    conditions,
    acting,
  }
}
