import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isReason } from '#api/meta/server-response.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import type { V1PodDisruptionBudgetSpec } from '#api/policy/v1/types.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

type Row = {
  name: string
  spec: Partial<V1PodDisruptionBudgetSpec>
  hangs?: number
  expected: [allowed: number, healthy: number, desired: number, pods: number]
}

const rows: Row[] = [
  { name: 'at least 3 of 5', spec: { minAvailable: 3 }, expected: [2, 5, 3, 5] },
  { name: 'at least half of 5', spec: { minAvailable: '50%' }, expected: [2, 5, 3, 5] },
  { name: 'at most 1 missing', spec: { maxUnavailable: 1 }, expected: [1, 5, 4, 5] },
  { name: 'at most 1 missing, and 2 are', spec: { maxUnavailable: 1 }, hangs: 2, expected: [0, 3, 4, 5] },
]

for (const { name, spec, hangs = 0, expected } of rows) {
  test(`a budget: ${name}`, async () => {
    let left = hangs
    const broken = new Set<string>()
    await using cluster = await FakeCluster.start({
      controllers: ['replicaset', 'disruption'],
      fateOf: ({ metadata }) => {
        if (left > 0 && !broken.has(metadata.uid ?? '')) {
          left--
          broken.add(metadata.uid ?? '')
        }
        return broken.has(metadata.uid ?? '') ? 'hangs' : 'runs'
      },
    })
    const selector = { matchLabels: { app: 'web' } }
    await cluster.create(PodDisruptionBudget, { metadata: { namespace: 'default', name: 'web' }, spec: { selector, ...spec } })
    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'a' }] } }
    await cluster.create(ReplicaSet, { metadata: { namespace: 'default', name: 'web' }, spec: { replicas: 5, selector, template } })
    await cluster.advance({ seconds: 5 })
    const status = (await cluster.get(PodDisruptionBudget, 'default', 'web')).status ?? {}
    assert.deepEqual([status.disruptionsAllowed, status.currentHealthy, status.desiredHealthy, status.expectedPods], expected)
    assert.equal(status.conditions?.[0]?.reason, expected[0] > 0 ? 'SufficientPods' : 'InsufficientPods')

    const evictions = []
    for (const { metadata } of await cluster.list(Pod, 'default')) {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace: 'default', name: metadata.name } }
      const isBroken = broken.has(metadata.uid ?? '')
      if (!isBroken)
        evictions.push(
          await cluster.client.subresource('POST', Pod, metadata, 'eviction', eviction).then(
            () => true,
            (error) => (isReason(error, 'TooManyRequests') ? false : Promise.reject(error)),
          ),
        )
    }
    assert.equal(evictions.filter(Boolean).length, expected[0], 'as many evictions as the budget allows')
  })
}
