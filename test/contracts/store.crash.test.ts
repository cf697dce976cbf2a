import { test } from 'node:test'
import { crashRun } from './store-crash/crash-run.ts'

test('[ST24] a store killed while writing, 25 times, has every acknowledged write and no half ones', { timeout: 600_000 }, async () => {
  await crashRun({ kills: 25, seed: 1 })
})
