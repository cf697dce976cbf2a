import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptFilesOf } from '#base/testing/kept-files-of.ts'
import { cgroupMeter } from '#kubelet/stats/cgroup-usage.ts'

const filesOf = (contents: Record<string, string>) => keptFilesOf((path) => contents[path])

test('a group of version 1: what is used, and what of it cannot be taken back', () => {
  const roots = new Map([
    ['cpu', '/cg/cpu'],
    ['memory', '/cg/memory'],
    ['pids', '/cg/pids'],
  ])
  const files = filesOf({
    '/cg/cpu/a/b/cpuacct.usage': '1500000000\n',
    '/cg/cpu/a/b/cpuacct.stat': 'user 100\nsystem 50\n',
    '/cg/cpu/a/b/cpu.stat': 'nr_periods 10\nnr_throttled 4\nthrottled_time 7000\n',
    '/cg/memory/a/b/memory.usage_in_bytes': '1000\n',
    '/cg/memory/a/b/memory.limit_in_bytes': '9223372036854771712\n',
    '/cg/memory/a/b/memory.stat':
      'inactive_file 1\ntotal_inactive_file 300\ntotal_rss 400\ntotal_cache 500\ntotal_pgfault 7\ntotal_pgmajfault 2\n',
    '/cg/pids/a/b/pids.current': '3\n',
  })
  const usage = cgroupMeter('/a/b', { version: 1, roots }, files).usage(42, { detail: 'all', countsProcesses: true, mayThrottle: true })
  assert.deepEqual(usage?.cpu, {
    ...{ usageNanos: 1_500_000_000, userNanos: 1_000_000_000, systemNanos: 500_000_000 },
    throttling: { periods: 10, throttledPeriods: 4, throttledNanos: 7000 },
  })
  const { usageBytes, workingSetBytes, rssBytes, limitBytes, pageFaults, majorPageFaults } = usage?.memory ?? {}
  assert.deepEqual([usageBytes, workingSetBytes, rssBytes, limitBytes, pageFaults, majorPageFaults], [1000, 700, 400, undefined, 7, 2])
  assert.deepEqual([usage?.timeMs, usage?.processes], [42, 3])
})

test('a group of version 2, with a limit', () => {
  const roots = new Map([
    ['cpu', '/cg'],
    ['memory', '/cg'],
  ])
  const files = filesOf({
    '/cg/x/cpu.stat': 'usage_usec 2000\nuser_usec 1500\nsystem_usec 500\n',
    '/cg/x/memory.current': '5000\n',
    '/cg/x/memory.max': '8000\n',
    '/cg/x/memory.stat': 'anon 3000\nfile 2000\ninactive_file 6000\npgfault 1\npgmajfault 0\n',
  })
  const usage = cgroupMeter('x', { version: 2, roots }, files).usage(0, { detail: 'all', countsProcesses: true, mayThrottle: true })
  assert.equal(usage?.cpu.usageNanos, 2_000_000)
  assert.equal(usage?.cpu.throttling, undefined)
  const { workingSetBytes, limitBytes, rssBytes } = usage?.memory ?? {}
  assert.deepEqual([workingSetBytes, limitBytes, rssBytes], [0, 8000, 3000])
})

test('a group that is not there uses nothing that could be told', () => {
  assert.equal(
    cgroupMeter('x', { version: 2, roots: new Map([['memory', '/cg']]) }, filesOf({})).usage(0, {
      detail: 'all',
      countsProcesses: true,
      mayThrottle: true,
    }),
    undefined,
  )
})

test('of a group of version 1 that has no quota, what tells how often it was held back is not read', () => {
  const read: string[] = []
  const roots = new Map(['cpu', 'memory'].map((name) => [name, `/cg/${name}`]))
  const files = keptFilesOf((path) => {
    read.push(path)
    return path.endsWith('.stat') ? 'nr_periods 10\n' : '1\n'
  })
  const usage = cgroupMeter('x', { version: 1, roots }, files).usage(0, { detail: 'all', countsProcesses: false, mayThrottle: false })
  assert.equal(usage?.cpu.throttling, undefined)
  assert.deepEqual([read.includes('/cg/cpu/x/cpu.stat'), read.includes('/cg/cpu/x/cpuacct.stat')], [false, true])
})
