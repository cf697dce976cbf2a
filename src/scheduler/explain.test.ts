import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { podInfoOf } from '#scheduler/cache/pod-info.ts'
import { explain, explanationText } from '#scheduler/explain.ts'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'

async function explained(pod: V1Pod): Promise<string> {
  await using cluster = new FakeCluster()
  const taints = [{ key: 'gpu', effect: 'NoSchedule' }]
  cluster.put('Node', aNode('large', { cpu: '8' }), aNode('tainted', { cpu: '1', taints }), aNode('full', { cpu: '2' }))
  cluster.put('Pod', aPod('other', { cpu: '2', on: 'full' }))
  return explanationText(explain(cluster.scheduler, podInfoOf(pod)))
}

test('every plugin that turned a node down is named, and every score of those that fit', async () => {
  assert.equal(
    await explained(aPod('p', { cpu: '2' })),
    `Pod default/p, scheduler default-scheduler
1 of 3 nodes fit; the best is large with 454 points

Nodes that fit, best first (score x weight):
  large  454  = TaintToleration 100x3 + NodeResourcesFit 86x1 + NodeResourcesBalancedAllocation 68x1

Nodes that do not fit:
  tainted  TaintToleration: node(s) had untolerated taint(s)
  tainted  NodeResourcesFit: Insufficient cpu
  full  NodeResourcesFit: Insufficient cpu (preemption may help)
`,
  )
})

test('a pod that fits nowhere gets the sentence its events have', async () => {
  const [, summary] = (await explained(aPod('p', { cpu: '64' }))).split('\n')
  assert.equal(summary, '0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.')
})

test('gates and other schedulers are reasons too', async () => {
  const gated = aPod('p', { spec: { schedulingGates: [{ name: 'g' }] } })
  assert.match(await explained(gated), /SchedulingGates: waiting for scheduling gates: \[g\]/)
  assert.match(await explained(aPod('p', { spec: { schedulerName: 'theirs' } })), /another scheduler is asked for/)
})
