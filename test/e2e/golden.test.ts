/** Replays what a real kube-apiserver answered, and holds the matched count of every area: it may rise, never fall. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type Failure, failureText, replay, tableOf } from '../golden/replay.ts'
import { readScenarios } from '../golden/scenario.ts'
import { startCluster } from '../support/running-cluster.ts'

const baselinePath = join(import.meta.dirname, '..', 'golden', 'baseline.json')
const differencesPath = join(import.meta.dirname, '..', '..', '.cache', 'golden-differences.txt')

// Thousands of requests one after another: minutes on a busy machine.
test('answers match those of the recorded server, in no area fewer than before', { timeout: 900_000 }, async () => {
  await using cluster = await startCluster([
    '--store',
    'memory',
    '--runtime',
    'none',
    '--controllers=',
    '--scheduler=false',
    '--legacy-apis=false',
  ])
  const server = { server: cluster.url, token: cluster.token, insecure: true }
  const differences: string[] = []
  const onFailure = (failure: Failure) => void differences.push(failureText(failure))
  // What is retried comes within milliseconds or, where we are known to differ, never.
  const areas = await replay(server, readScenarios(), { onFailure, retrySecondsAtMost: 15 })
  console.log(tableOf(areas))
  mkdirSync(dirname(differencesPath), { recursive: true })
  writeFileSync(differencesPath, `${differences.join('\n')}\n`)
  const matched = Object.fromEntries([...areas].sort().map(([area, count]) => [area, count.matched]))
  if (process.env['UPDATE_GOLDEN']) writeFileSync(baselinePath, `${JSON.stringify(matched, undefined, 2)}\n`)
  const baseline = JSON.parse(readFileSync(baselinePath, 'utf8')) as Record<string, number>
  assert.deepEqual(Object.keys(baseline), Object.keys(matched), 'an area came or went; run with UPDATE_GOLDEN=1')
  const fallen = Object.entries(baseline).filter(([area, count]) => (matched[area] ?? 0) < count)
  assert.deepEqual(fallen, [], `areas with fewer matches than before (area, before); the differences are in ${differencesPath}`)
  const risen = Object.entries(baseline).filter(([area, count]) => (matched[area] ?? 0) > count)
  if (risen.length > 0) console.log(`more matches than before in ${risen.map(([area]) => area).join(', ')}: run with UPDATE_GOLDEN=1`)
})
