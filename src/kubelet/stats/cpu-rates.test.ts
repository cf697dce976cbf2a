import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CpuRates } from '#kubelet/stats/cpu-rates.ts'
import type { GroupUsage, NodeUsage } from '#kubelet/stats/usage.ts'

const group = (timeMs: number, usageNanos: number) => ({ timeMs, cpu: { usageNanos } }) as GroupUsage
const node = (timeMs: number, usageNanos: number) =>
  ({ whole: group(timeMs, usageNanos), systemContainers: [], pods: [] }) as unknown as NodeUsage

test('a rate needs two looks that are neither too near to each other nor too far apart', () => {
  const rates = new CpuRates()
  assert.equal(rates.see(node(0, 0)), false)
  assert.equal(rates.see(node(500, 1e9)), false)
  assert.equal(rates.see(node(2000, 4e9)), true)
  assert.equal(rates.of('node'), 2e9)
  // Too soon: what was found out stays.
  assert.equal(rates.see(node(2100, 9e9)), true)
  assert.equal(rates.of('node'), 2e9)
  assert.equal(rates.see(node(200_000, 10e9)), false)
})

test('a counter that falls belongs to something else', () => {
  const rates = new CpuRates()
  rates.see(node(0, 5e9))
  assert.equal(rates.see(node(10_000, 1e9)), false)
})
