import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Files } from '#base/files.ts'
import { usageOfProcesses } from '#runtime/containers/process-usage.ts'

const stat = (ticks: readonly number[]) => `7 (a (b) c) S ${'0 '.repeat(10)}${ticks.join(' ')} 20 0`

const filesOf = (texts: Record<string, string>) =>
  ({ readTextIfPresent: async (path: string) => texts[path.replace('/proc/', '')] }) as unknown as Files

test('what a container takes is the sum of its processes, and of those they have waited for', async () => {
  const files = filesOf({
    '10/stat': stat([1, 2, 3, 4]),
    '10/status': 'VmRSS:\t999 kB\nRssAnon:\t     100 kB\nRssFile:\t 500 kB\nRssShmem:\t 1 kB\n',
    '10/task/10/children': '11 12 ',
    '11/stat': stat([100, 0, 0, 0]),
    '11/status': 'RssAnon:\t     8 kB\n',
    '11/task/11/children': '',
    // The other has ended meanwhile.
  })
  assert.deepEqual(await usageOfProcesses(10, files), {
    cpuNanos: 1_100_000_000n,
    ...{ memoryBytes: 109n * 1024n, workingSetBytes: 109n * 1024n, rssBytes: 109n * 1024n },
  })
})

test('a container that has ended takes nothing', async () => {
  assert.equal((await usageOfProcesses(10, filesOf({}))).cpuNanos, 0n)
})
