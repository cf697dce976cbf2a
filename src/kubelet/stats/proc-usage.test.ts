import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interfacesOf, machineUsage } from '#kubelet/stats/proc-usage.ts'

const filesOf = (contents: Record<string, string>) => ({ read: (path: string) => contents[path], list: () => [] })

test('the machine: what it uses, and since when it runs', () => {
  const files = filesOf({
    '/proc/meminfo':
      'MemTotal:  1000 kB\nMemFree:  400 kB\nCached:  50 kB\nInactive(file):  100 kB\nSwapTotal:  30 kB\nSwapFree:  10 kB\nAnonPages:  7 kB\n',
    '/proc/stat': 'cpu  10 2 5 100 0 1 2 0 0 0\ncpu0 1 1 1 1\nbtime 1700000000\n',
    '/proc/vmstat': 'nr_free_pages 9\npgfault 12\npgmajfault 3\n',
  })
  const { cpu, memory, startedMs } = machineUsage(files, 42)
  assert.equal(startedMs, 1_700_000_000_000)
  assert.deepEqual(cpu, { usageNanos: 200_000_000, userNanos: 120_000_000, systemNanos: 80_000_000 })
  assert.deepEqual(memory, {
    ...{ usageBytes: 600 << 10, workingSetBytes: 500 << 10, rssBytes: 7 << 10, cacheBytes: 50 << 10, swapBytes: 20 << 10 },
    ...{ pageFaults: 12, majorPageFaults: 3, limitBytes: 1000 << 10 },
  })
})

test('the interfaces of a network, without loopback, also where a number follows the colon at once', () => {
  const files = filesOf({
    '/proc/7/net/dev':
      'Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs\n' +
      '    lo:  5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n  eth0:100 11 12 13 0 0 0 0 200 21 22 23 0 0 0 0\n',
  })
  assert.deepEqual(interfacesOf(files, '7'), [
    {
      name: 'eth0',
      ...{ rxBytes: 100, rxPackets: 11, rxErrors: 12, rxDropped: 13, txBytes: 200, txPackets: 21, txErrors: 22, txDropped: 23 },
    },
  ])
  assert.equal(interfacesOf(files, '8'), undefined)
})
