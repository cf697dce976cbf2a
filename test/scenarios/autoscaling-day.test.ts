/** The three autoscalers together, through a recorded day of a web site, twelve times as fast as it was. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeValueOf } from '#api/meta/quantity.ts'
import { autoscalingDay, type DaySample } from '../support/autoscaling-day.ts'
import { recordedLoad } from '../support/recorded-load.ts'

/** A machine takes a minute, and is asked for within forty seconds, or twice that where a round has just been missed. */
const promisedSeconds = 150
/** Of a pod: at the target of 70 % of what it asks for, and as fast as it can. */
const [servedAtTarget, servedAtMost] = [43.75, 125]
const podsOfNode = 8

/** Requests a second from one minute to another, twice a minute. */
const loads = (from: number, to: number): number[] =>
  Array.from({ length: (to - from) * 2 + 1 }, (_, half) => recordedLoad(from + half / 2))

/** What an autoscaler did that the load did not ask for: because of what another one had done, then. */
function unasked(before: DaySample, after: DaySample): string[] {
  const [most, least] = [Math.max(...loads(before.minute - 5, after.minute)), Math.min(...loads(before.minute, after.minute))]
  const [nodesBefore = 0, nodesAfter = 0] = [before.nodes['small'], after.nodes['small']]
  const pods = Math.max(before.replicas, after.replicas)
  const found: string[] = []
  if (after.replicas > before.replicas) {
    if (most <= servedAtTarget * before.replicas) found.push('pods were added though those there sufficed')
    if (after.replicas > Math.ceil(most / servedAtTarget)) found.push('more pods were added than needed')
  }
  if (after.replicas < before.replicas) {
    if (least >= servedAtTarget * before.replicas) found.push('pods were removed that were needed')
    if (after.replicas < Math.floor(least / servedAtTarget)) found.push('more pods were removed than could be spared')
  }
  if (nodesAfter > nodesBefore && pods <= podsOfNode * nodesBefore) found.push('a node was added though all pods had room')
  // Pods may have been added right after a node that nobody needed was gone.
  if (nodesAfter < nodesBefore && Math.min(before.replicas, after.replicas) > podsOfNode * nodesAfter)
    found.push('a node was removed that was needed')
  return found.map((what) => `${what}: ${JSON.stringify([before, after])}`)
}

test('a recorded day: pods are placed in time, nodes follow the load, and no autoscaler works against another', {
  timeout: 300_000,
}, async (t) => {
  const day = await autoscalingDay({ pace: 12 })
  const longest = Math.max(...day.waitSeconds)
  t.diagnostic(`the nodes cost ${day.cost.toFixed(2)}; what ran at the dearest moment would have cost ${day.costAtPeak.toFixed(2)} all day`)
  t.diagnostic(`${day.waitSeconds.length} pods; the longest wait for a node was ${longest} s`)

  assert.equal(day.unplaced, 0)
  assert.ok(day.waitSeconds.length > 150, `${day.waitSeconds.length} pods`)
  assert.ok(longest <= promisedSeconds, `a pod waited ${longest} s for its node`)
  for (const { minute, load, readyReplicas } of day.samples)
    assert.ok(readyReplicas * servedAtMost >= load, `${readyReplicas} pods cannot serve ${load} requests a second at minute ${minute}`)

  // The peak is after the start of the space shuttle; at eight in the evening nobody asks for twenty minutes.
  const nodesAt = (from: number, to: number) =>
    day.samples.filter(({ minute }) => minute >= from && minute <= to).map(({ nodes }) => nodes['small'] ?? 0)
  assert.ok(Math.max(...nodesAt(9 * 60, 10 * 60)) >= 5, `${nodesAt(9 * 60, 10 * 60)} nodes at the peak`)
  assert.ok(Math.min(...nodesAt(20 * 60, 21 * 60)) === 1, `${nodesAt(20 * 60, 21 * 60)} nodes after the gap`)
  assert.ok((day.samples.at(-1)?.nodes['small'] ?? 0) <= 3, 'nodes go with the load')
  assert.ok(day.cost < 8, `${day.cost}`)
  assert.ok(day.cost < day.costAtPeak * 0.4, `${day.cost} of ${day.costAtPeak}`)
  const reports = day.samples.filter(({ nodes }) => (nodes['big'] ?? 0) > 0).map(({ minute }) => minute)
  assert.ok((reports[0] ?? 0) >= 115 && (reports.at(-1) ?? 0) < 240, `machines for reports from ${reports[0]} to ${reports.at(-1)}`)

  assert.deepEqual(
    day.samples.slice(1).flatMap((sample, index) => unasked(day.samples[index] ?? sample, sample)),
    [],
  )
  for (const memory of day.memoryRequests) assert.ok(wholeValueOf(memory) > 350 * 2 ** 20, `a pod asks for ${memory}`)
  const evictions = day.events.get('EvictedByVPA') ?? 0
  assert.ok(evictions > 0 && evictions <= 30, `${evictions} pods were evicted for their memory`)
})
