import type { UsageHistory } from '#controllers/vertical-pod-autoscaler/usage-history.ts'

/** CPU in thousandths of a core, memory in bytes. */
export type Estimate = { cpuMillis: number; memoryBytes: number }
export type Estimates = { target: Estimate; lowerBound: Estimate; upperBound: Estimate }

const safetyMargin = 1.15
const podMinCpuMillis = 25
const podMinMemoryBytes = 250 * 1024 * 1024
const mostAmount = 1e14

/** What a container should have: nine tenths of what was seen, and some more. Bounds are the wider the less is known. */
export function estimates(history: UsageHistory, containerCount: number): Estimates {
  const { confidence } = history
  const at = (share: number, multiplier: number): Estimate => ({
    cpuMillis: bounded(history.cpu.percentile(share) * 1000 * safetyMargin * multiplier, podMinCpuMillis / containerCount),
    memoryBytes: bounded(history.memory.percentile(share) * safetyMargin * multiplier, podMinMemoryBytes / containerCount),
  })
  return {
    target: at(0.9, 1),
    lowerBound: at(0.5, (1 + 0.001 / confidence) ** -2),
    upperBound: at(0.95, 1 + 1 / confidence),
  }
}

const bounded = (value: number, least: number): number => Math.min(mostAmount, Math.max(Math.trunc(least), Math.trunc(value)))
