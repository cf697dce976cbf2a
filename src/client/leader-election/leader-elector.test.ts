import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { LeaderElector } from '#client/leader-election/leader-elector.ts'
import type { Transport } from '#client/transport.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

class Candidate {
  readonly elector: LeaderElector
  readonly abort = new AbortController()
  /** When cut off, requests never end. */
  isCutOff = false
  isLeading = false

  constructor(cluster: FakeCluster, identity: string, seed: number) {
    const road = cluster.transportAs('admin', ['system:masters'])
    const transport: Transport = { send: (request) => (this.isCutOff ? new Promise(() => {}) : road.send(request)) }
    this.elector = new LeaderElector({
      client: new Client({ transport, userAgent: identity }),
      clock: cluster.clock,
      random: seededRandom(seed),
      logger: silentLogger,
      namespace: 'kube-system',
      name: 'manager',
      identity,
      lead: (signal) => {
        this.isLeading = true
        signal.addEventListener('abort', () => {
          this.isLeading = false
        })
      },
    })
    void this.elector.run(this.abort.signal)
  }
}

/** Lets time pass and fails when two lead at once. */
async function pass(cluster: FakeCluster, candidates: readonly Candidate[], seconds: number): Promise<void> {
  for (let step = 0; step < seconds * 10; step++) {
    await cluster.advance(100)
    assert.ok(candidates.filter(({ isLeading }) => isLeading).length <= 1, 'two lead at once')
  }
}

for (const seed of [1, 2, 3]) {
  test(`of two candidates one leads; when it is cut off the other does within the lease time, and never both (seed ${seed})`, async () => {
    await using cluster = await FakeCluster.start({ withoutNodes: true, seed })
    const candidates = [new Candidate(cluster, 'one', seed), new Candidate(cluster, 'two', seed + 10)]
    await pass(cluster, candidates, 5)
    const [leader, other] = candidates[0]?.isLeading ? candidates : [...candidates].reverse()
    assert.ok(leader?.isLeading && other && !other.isLeading)
    await pass(cluster, candidates, 60)
    assert.ok(leader.isLeading)
    leader.isCutOff = true
    await pass(cluster, candidates, 20)
    assert.ok(other.isLeading && !leader.isLeading)
    assert.equal((await cluster.get(Lease, 'kube-system', 'manager')).spec?.leaseTransitions, 1)
    for (const { abort } of candidates) abort.abort()
    await cluster.advance({ seconds: 1 })
  })
}

test('a leader that is asked to stop gives the lease back, and the next need not wait', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const first = new Candidate(cluster, 'one', 1)
  await cluster.advance({ seconds: 1 })
  const second = new Candidate(cluster, 'two', 2)
  await cluster.advance({ seconds: 5 })
  first.abort.abort()
  await pass(cluster, [first, second], 6)
  assert.ok(second.isLeading)
  second.abort.abort()
  await cluster.advance({ seconds: 1 })
})
