import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimates } from '#controllers/vertical-pod-autoscaler/estimate.ts'
import { DecayingHistogram } from '#controllers/vertical-pod-autoscaler/histogram.ts'
import { ContainerUsage, dayMs, UsageHistory } from '#controllers/vertical-pod-autoscaler/usage-history.ts'

const options = { maxValue: 1000, firstBucketSize: 0.01, ratio: 1.05, epsilon: 0.0001, halfLifeMs: dayMs }
const near = (actual: number, expected: number, share = 0.06) =>
  assert.ok(Math.abs(actual - expected) <= expected * share, `${actual} is not near ${expected}`)
const minuteMs = 60_000

test('percentiles are ends of buckets, which grow by a twentieth', () => {
  const histogram = new DecayingHistogram(options)
  assert.equal(histogram.percentile(0.9), 0)
  for (let value = 1; value <= 100; value++) histogram.add(value, 1, 0)
  near(histogram.percentile(0.5), 50)
  near(histogram.percentile(0.9), 90)
  near(histogram.percentile(1), 100)
  histogram.add(5000, 1000, 0)
  near(histogram.percentile(0.9), 1000, 0.1)
})

test('a sample weighs half as much a day later, and nothing after months', () => {
  const histogram = new DecayingHistogram(options)
  histogram.add(1, 1, 0)
  histogram.add(10, 1, dayMs)
  near(histogram.percentile(0.3), 1)
  near(histogram.percentile(0.4), 10)
  histogram.add(100, 1, 150 * dayMs)
  near(histogram.percentile(0.01), 100)
})

test('a peak that is taken back is as if it had not been, and a checkpoint holds what was known', () => {
  const histogram = new DecayingHistogram(options)
  for (let value = 1; value <= 20; value++) histogram.add(value, 1, value * minuteMs)
  histogram.add(500, 5, 0)
  histogram.subtract(500, 5, 0)
  near(histogram.percentile(0.99), 20)
  const restored = new DecayingHistogram(options)
  restored.load(histogram.save())
  for (const share of [0.1, 0.5, 0.9]) assert.equal(restored.percentile(share), histogram.percentile(share))
})

test('of memory the peak of each day counts', () => {
  const history = new UsageHistory()
  const container = new ContainerUsage()
  for (let minute = 0; minute < 3 * 24 * 60; minute += 10)
    container.addMemory(history, minute % (24 * 60) === 600 ? 800e6 : 200e6, dayMs + minute * minuteMs)
  near(history.memory.percentile(0.1), 800e6)
})

test('who runs out of memory is recommended a fifth more than it had, and a hundred mebibytes at least', () => {
  for (const [requestBytes, expected] of [
    [1e9, 1.2e9],
    [100e6, 100e6 + 100 * 1024 * 1024],
  ] as const) {
    const history = new UsageHistory()
    const container = new ContainerUsage()
    container.addMemory(history, 50e6, minuteMs)
    container.addOutOfMemory(history, requestBytes, 2 * minuteMs)
    near(history.memory.percentile(0.9), expected)
  }
})

test('bounds are wide where little is known and narrow where much is', () => {
  const history = new UsageHistory()
  const container = new ContainerUsage()
  const use = (fromMinute: number, toMinute: number) => {
    for (let minute = fromMinute; minute < toMinute; minute++) {
      container.addCpu(history, 1, 0.5, minute * minuteMs)
      container.addMemory(history, 1e9, minute * minuteMs)
    }
  }
  use(1, 12)
  const early = estimates(history, 1)
  near(early.target.cpuMillis, 1150, 0.06)
  assert.ok(early.upperBound.cpuMillis > 100 * early.target.cpuMillis)
  assert.ok(early.lowerBound.cpuMillis < 0.9 * early.target.cpuMillis)
  use(12, 8 * 24 * 60)
  const late = estimates(history, 1)
  assert.ok(late.upperBound.cpuMillis < 1.2 * late.target.cpuMillis)
  assert.ok(late.lowerBound.cpuMillis > 0.99 * late.target.cpuMillis)
  near(late.target.memoryBytes, 1.15e9)
})

test('idle containers share the least that a pod is given', () => {
  const history = new UsageHistory()
  new ContainerUsage().addCpu(history, 0.001, 0.1, minuteMs)
  assert.deepEqual(estimates(history, 2).target, { cpuMillis: 12, memoryBytes: 125 * 1024 * 1024 })
})
