import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Amounts } from '#kubelet/stats/amounts.ts'

test('numbers are found by the whole name, in any order', () => {
  const amounts = new Amounts('SwapCached: 1 kB\nCached:     22 kB\nInactive(file): 3 kB\ncache 4\ntotal_cache 5\n')
  const names = ['Cached', 'cache', 'Inactive(file)', 'total_cache', 'SwapCached', 'Inactive', 'file']
  assert.deepEqual(
    names.map((name) => amounts.of(name)),
    [22, 4, 3, 5, 1, undefined, undefined],
  )
})
