import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { formatMicroTime } from '#api/meta/time.ts'
import { clockProblems } from '#cmd/running/clock-skew.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

test('a node whose clock is minutes off is named, with how far; one that is merely late is not', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true, controllers: [] })
  const minuteMs = 60_000
  const offsets = { well: 0, ahead: 7 * minuteMs, behind: -90_000 }
  for (const [name, offsetMs] of Object.entries(offsets)) {
    const spec = { holderIdentity: name, renewTime: formatMicroTime((cluster.clock.now() + offsetMs) * 1000) }
    await cluster.client.create(Lease, { metadata: { namespace: 'kube-node-lease', name }, spec })
  }
  // Nobody has renewed them for a while: that says nothing of clocks.
  await cluster.advance({ seconds: 600 })
  const { items } = await cluster.client.list(Lease, { namespace: 'kube-node-lease' })
  const problems = clockProblems(items)
  assert.equal(problems.length, 2)
  assert.match(problems.join('\n'), /node ahead: its clock is 7 minutes ahead of the API server's/)
  assert.match(problems.join('\n'), /node behind: its clock is 90 seconds behind the API server's/)

  // Renewed by a clock that was set right.
  const lease = await cluster.client.get(Lease, 'kube-node-lease', 'ahead')
  await cluster.client.update(Lease, { ...lease, spec: { ...lease.spec, renewTime: formatMicroTime(cluster.clock.now() * 1000) } })
  const after = clockProblems((await cluster.client.list(Lease, { namespace: 'kube-node-lease' })).items)
  assert.equal(after.length, 1)
})
