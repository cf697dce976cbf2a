import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { Client } from '#client/client.ts'
import { UsageCollector } from '#metrics-server/usage-collector.ts'

type Container = { cores: number; startedMs: number; baseSeconds?: number }

/** A node whose container uses what it is told to. */
function bench(container: Container) {
  const clock = new VirtualClock()
  let looks = 0
  let isAway = false
  let isThere = true
  const client = {
    list: async () => ({ items: isThere ? [{ metadata: { name: 'n' } }] : [] }),
    async raw() {
      looks++
      if (isAway) throw new Error('gone')
      const now = clock.now()
      const labels = '{container="c",namespace="ns",pod="p"}'
      const seconds = (container.baseSeconds ?? 0) + (container.cores * (now - container.startedMs)) / 1000
      return [
        `container_cpu_usage_seconds_total${labels} ${seconds} ${now}`,
        `container_memory_working_set_bytes${labels} 1048576 ${now}`,
        `container_start_time_seconds${labels} ${container.startedMs / 1000}`,
        `node_cpu_usage_seconds_total ${(2 * now) / 1000} ${now}`,
        `node_memory_working_set_bytes 4096 ${now}`,
        '',
      ].join('\n')
    },
  }
  const usage = new UsageCollector({ client: client as unknown as Client, clock, logger: silentLogger })
  const prepared = async () => {
    let isDone = false
    const preparing = usage.prepare().then(() => {
      isDone = true
    })
    while (!isDone) await clock.advance(100)
    await preparing
  }
  return { clock, usage, prepared, container, looks: () => looks, goAway: () => (isAway = true), setThere: (is: boolean) => (isThere = is) }
}

test('the first question is answered from two looks, a second apart', async () => {
  const { usage, prepared, clock } = bench({ cores: 0.25, startedMs: new VirtualClock().now() - 60_000 })
  await prepared()
  assert.deepEqual(usage.node('n'), { timeMs: clock.now(), windowMs: 1000, cpuNanoCores: 2_000_000_000, memoryBytes: 4096 })
  assert.equal(usage.pod('n', 'ns', 'p')?.get('c')?.cpuNanoCores, 250_000_000)
  assert.equal(usage.node('other'), undefined)
  assert.equal(usage.pod('n', 'ns', 'other'), undefined)
})

test('looks go on while somebody asks, and end when nobody does', async () => {
  const { prepared, clock, looks } = bench({ cores: 1, startedMs: 0 })
  await prepared()
  await clock.advance(60_000)
  assert.equal(looks(), 6)
  await clock.advance(600_000)
  const ended = looks()
  await clock.advance(600_000)
  assert.equal(looks(), ended)
  assert.ok(ended < 20)
  await prepared()
  assert.equal(looks(), ended + 2)
})

test('a container that was started anew is measured from its start', async () => {
  const { usage, prepared, clock, container } = bench({ cores: 1, startedMs: new VirtualClock().now() - 60_000 })
  await prepared()
  container.startedMs = clock.now() + 5000
  container.cores = 0.5
  await clock.advance(15_000)
  const { cpuNanoCores, windowMs } = usage.pod('n', 'ns', 'p')?.get('c') ?? {}
  assert.deepEqual([cpuNanoCores, windowMs], [500_000_000, 10_000])
})

test('of a node that does not answer nothing is told', async () => {
  const { usage, prepared, clock, goAway } = bench({ cores: 1, startedMs: 0 })
  await prepared()
  goAway()
  await clock.advance(16_000)
  assert.equal(usage.node('n'), undefined)
})

test('a node that comes while somebody asks is told of within seconds', async () => {
  const { usage, prepared, clock, setThere } = bench({ cores: 1, startedMs: 0 })
  setThere(false)
  await prepared()
  assert.equal(usage.node('n'), undefined)
  setThere(true)
  await clock.advance(5000)
  await prepared()
  assert.equal(usage.node('n')?.cpuNanoCores, 2_000_000_000)
})

test('a pod that comes while somebody asks is told of at the next question but one, and questions for others cost no more', async () => {
  const { usage, prepared, clock, looks } = bench({ cores: 1, startedMs: 0 })
  await prepared()
  assert.equal(usage.pod('n', 'ns', 'new'), undefined)
  await clock.advance(5000)
  const before = looks()
  await prepared()
  assert.equal(looks(), before + 2)
  // Nothing is missing now.
  assert.ok(usage.pod('n', 'ns', 'p'))
  await clock.advance(6000)
  const later = looks()
  await prepared()
  assert.equal(looks(), later)
})
