import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { podInfoOf } from '#scheduler/cache/pod-info.ts'
import { type ClusterEvent, on, when } from '#scheduler/framework/cluster-event.ts'
import type { QueuedPod } from '#scheduler/queue/queued-pod.ts'
import { SchedulingQueue } from '#scheduler/queue/scheduling-queue.ts'
import { aPod } from '#scheduler/testing/objects.ts'

function aQueue(options: { popsFromBackoff?: boolean } = {}) {
  const clock = new VirtualClock()
  const queue = new SchedulingQueue({
    ...options,
    clock,
    compare: (one, other) => other.info.priority - one.info.priority || one.queuedAtMs - other.queuedAtMs,
    preEnqueue: () => undefined,
    retryOn: new Map([
      ['NeedsNode', [on.node.added]],
      ['NeedsBlue', [when(on.node.labelsChanged, (_, __, node) => node.metadata.labels?.['color'] === 'blue')]],
    ]),
  })
  return { clock, queue, add: (name: string, priority = 0) => queue.add(podInfoOf(aPod(name, { priority }))) }
}
const names = (queue: SchedulingQueue): string[] => {
  const popped: string[] = []
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) popped.push(next.info.name)
  return popped
}
const popped = (queue: SchedulingQueue): QueuedPod => {
  const next = queue.pop()
  assert.ok(next)
  return next
}
const nodeAdded: ClusterEvent = { resource: 'Node', action: 'Add', label: 'NodeAdd' }

test('[SQ1] the most important pod comes first, and of equals the one that came first', () => {
  const { queue, add } = aQueue()
  add('a')
  add('b', 10)
  add('c')
  add('d', 10)
  assert.deepEqual(names(queue), ['b', 'd', 'a', 'c'])
})

test('[SQ2] a pod that was turned down sleeps until something concerns the plugin that did it', async () => {
  const { queue, add, clock } = aQueue()
  add('p')
  const pod = popped(queue)
  pod.rejectedBy = new Set(['NeedsNode'])
  queue.requeue(pod)
  queue.move({ resource: 'Node', action: 'Delete', label: 'NodeDelete' })
  queue.move({ resource: 'PersistentVolume', action: 'Add', label: 'PvAdd' })
  await clock.advance({ seconds: 30 })
  assert.deepEqual(queue.sizes, { active: 0, backoff: 0, unschedulable: 1, gated: 0 })
  queue.move(nodeAdded)
  assert.deepEqual(names(queue), ['p'])
})

test('[SQ3] a hint may know better than the kind of event', () => {
  const { queue, add } = aQueue()
  add('p')
  const pod = popped(queue)
  pod.rejectedBy = new Set(['NeedsBlue'])
  queue.requeue(pod)
  queue.move({ resource: 'Node', action: 'UpdateNodeLabel', after: { metadata: { labels: { color: 'red' } } }, label: 'NodeLabelChange' })
  assert.deepEqual(names(queue), [])
  queue.move({ resource: 'Node', action: 'UpdateNodeLabel', after: { metadata: { labels: { color: 'blue' } } }, label: 'NodeLabelChange' })
  assert.deepEqual(names(queue), ['p'])
})

test('[SQ4] what happens while a pod is being tried is not lost', () => {
  const { queue, add } = aQueue()
  add('p')
  const pod = popped(queue)
  queue.move(nodeAdded)
  pod.rejectedBy = new Set(['NeedsNode'])
  queue.requeue(pod)
  assert.deepEqual(names(queue), ['p'])
})

test('[SQ5] after errors pods wait, twice as long each time up to the limit, even when nobody else wants the scheduler', async () => {
  const { queue, add, clock } = aQueue()
  add('p')
  const waits: number[] = []
  for (let attempt = 0; attempt < 6; attempt++) {
    queue.requeue(popped(queue))
    assert.equal(queue.pop(), undefined)
    const startMs = clock.now()
    await clock.advanceUntil(() => queue.sizes.active === 1)
    waits.push(clock.now() - startMs)
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 10_000, 10_000])
})

test('without the gate for it, no pod is tried before its time though nobody else wants the scheduler', async () => {
  const { queue, add, clock } = aQueue({ popsFromBackoff: false })
  add('p')
  const pod = popped(queue)
  pod.rejectedBy = new Set(['NeedsNode'])
  queue.requeue(pod)
  queue.move(nodeAdded)
  assert.deepEqual(names(queue), [])
  await clock.advance({ seconds: 1 })
  assert.deepEqual(names(queue), ['p'])
})

test('[SQ6] after five minutes a pod is tried again whatever happened', async () => {
  const { queue, add, clock } = aQueue()
  add('p')
  const pod = popped(queue)
  pod.rejectedBy = new Set(['NeedsNode'])
  queue.requeue(pod)
  await clock.advance({ minutes: 4 })
  assert.equal(queue.sizes.unschedulable, 1)
  await clock.advance({ minutes: 2 })
  assert.deepEqual(names(queue), ['p'])
  assert.equal(pod.wasFlushed, true)
})

test('[SQ7] a pod that is deleted is not popped, wherever it waited', async () => {
  const { queue, add, clock } = aQueue()
  add('active')
  add('failed')
  add('parked')
  const [active, failed, parked] = [popped(queue), popped(queue), popped(queue)]
  queue.requeue(failed)
  parked.rejectedBy = new Set(['NeedsNode'])
  queue.requeue(parked)
  queue.done(active.info.uid)
  queue.add(active.info)
  for (const { info } of [active, failed, parked]) queue.delete(info.uid)
  queue.move(nodeAdded)
  await clock.advance({ minutes: 10 })
  assert.deepEqual(names(queue), [])
  assert.deepEqual(queue.sizes, { active: 0, backoff: 0, unschedulable: 0, gated: 0 })
})

test('[SQ8] a closed queue leaves no timer behind', async () => {
  const { queue, add, clock } = aQueue()
  add('p')
  add('q')
  const [one, other] = [popped(queue), popped(queue)]
  queue.requeue(one)
  other.rejectedBy = new Set(['NeedsNode'])
  queue.requeue(other)
  assert.equal(clock.pending, 2)
  queue.close()
  assert.equal(clock.pending, 0)
})

test('very many parked pods hear of an event in several turns, those that are parked meanwhile not at all', async () => {
  const { queue, add, clock } = aQueue()
  const park = (pod: QueuedPod) => {
    pod.rejectedBy = new Set(['NeedsNode'])
    queue.requeue(pod)
  }
  for (let index = 0; index < 100; index++) add(`p${index}`)
  for (let index = 0; index < 100; index++) park(popped(queue))
  await clock.advance({ seconds: 30 })
  let turns = 0
  clock.heldMs = () => 9
  clock.soon = (callback) => {
    turns++
    later.push(callback)
  }
  const later: (() => void)[] = []
  queue.move(nodeAdded)
  assert.equal(queue.sizes.active, 32)
  // One of them is turned down again before the others have heard.
  const again = popped(queue)
  park(again)
  queue.move({ resource: 'Node', action: 'Delete', label: 'NodeDelete' })
  while (later.length > 0) later.shift()?.()
  assert.ok(turns >= 3, `${turns} turns`)
  assert.deepEqual(queue.sizes, { active: 99, backoff: 0, unschedulable: 1, gated: 0 })
  assert.equal(queue.get(again.info.uid)?.place, 'unschedulable')
})
