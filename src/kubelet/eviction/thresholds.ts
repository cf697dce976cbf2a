/** When a node has too little of something: `memory.available<100Mi`, `nodefs.available<10%`. */

import { isQuantity, parseQuantity } from '#api/meta/quantity.ts'
import { parseDurationMs } from '#base/duration.ts'
import { type Signal, signals } from '#kubelet/eviction/signals.ts'

/** An amount, or a share of the capacity. */
export type ThresholdValue = { amount: number } | { share: number }

export type Threshold = {
  signal: Signal
  value: ThresholdValue
  /** 0 for hard ones: they are met at once. */
  graceMs: number
  /** How much more is to be won back once it was met. */
  minReclaim?: ThresholdValue
}

export type EvictionSettings = {
  evictionHard: Readonly<Record<string, string>>
  evictionSoft: Readonly<Record<string, string>>
  evictionSoftGracePeriod: Readonly<Record<string, string>>
  evictionMinimumReclaim: Readonly<Record<string, string>>
}

/** Throws an error that names the setting. */
export function parseThresholds({
  evictionHard,
  evictionSoft,
  evictionSoftGracePeriod,
  evictionMinimumReclaim,
}: EvictionSettings): Threshold[] {
  const reclaims = new Map(
    Object.entries(evictionMinimumReclaim).map(([name, text]) => [
      signalOf(name, 'evictionMinimumReclaim'),
      thresholdValue(text, 'evictionMinimumReclaim', name),
    ]),
  )
  const withReclaim = (threshold: Threshold): Threshold => {
    const minReclaim = reclaims.get(threshold.signal)
    return minReclaim === undefined ? threshold : { ...threshold, minReclaim }
  }
  const hard = Object.entries(evictionHard).map(([name, text]) => ({
    signal: signalOf(name, 'evictionHard'),
    value: thresholdValue(text, 'evictionHard', name),
    graceMs: 0,
  }))
  const soft = Object.entries(evictionSoft).map(([name, text]) => {
    const period = evictionSoftGracePeriod[name]
    if (period === undefined) throw new Error(`evictionSoft: ${name} has no grace period; set evictionSoftGracePeriod for it`)
    return { signal: signalOf(name, 'evictionSoft'), value: thresholdValue(text, 'evictionSoft', name), graceMs: parseDurationMs(period) }
  })
  // Nothing is never too little.
  return [...hard, ...soft].filter(({ value }) => ('share' in value ? value.share : value.amount) > 0).map(withReclaim)
}

function signalOf(name: string, setting: string): Signal {
  const signal = signals.find((each) => each === name)
  if (signal === undefined) throw new Error(`${setting}: unknown eviction signal ${name}; one of ${signals.join(', ')}`)
  return signal
}

function thresholdValue(text: string, setting: string, name: string): ThresholdValue {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1]
  if (percent !== undefined && Number(percent) <= 100) return { share: Number(percent) / 100 }
  if (!isQuantity(text) || parseQuantity(text).sign < 0)
    throw new Error(`${setting}: ${name}: ${text} is neither an amount such as 100Mi nor a percentage such as 10%`)
  return { amount: parseQuantity(text).value() }
}

export const amountOf = (value: ThresholdValue, capacity: number): number => ('share' in value ? value.share * capacity : value.amount)
