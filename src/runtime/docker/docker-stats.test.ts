import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageIn } from '#runtime/docker/docker-stats.ts'

test("what a container uses is read from Docker's statistics, with cgroup v1 and v2", () => {
  const cpu_stats = { cpu_usage: { total_usage: 25_000_000 } }
  const ofVersion1 = { usage: 2_000_000, stats: { cache: 900_000, rss: 700_000, total_rss: 800_000, total_inactive_file: 500_000 } }
  const ofVersion2 = { usage: 2_000_000, stats: { anon: 800_000, file: 900_000, inactive_file: 500_000 } }
  for (const memory_stats of [ofVersion1, ofVersion2]) {
    const { cpu, memory } = usageIn({ cpu_stats, memory_stats }, 7n)
    assert.deepEqual(cpu, { timestamp: 7n, usageCoreNanoSeconds: { value: 25_000_000n } })
    const wanted = { usageBytes: { value: 2_000_000n }, workingSetBytes: { value: 1_500_000n }, rssBytes: { value: 800_000n } }
    assert.deepEqual(memory, { timestamp: 7n, ...wanted })
  }
})

test('a container that has just ended uses nothing', () => {
  assert.deepEqual(usageIn({}, 7n).memory?.workingSetBytes, { value: 0n })
})
