/** A job that ignores disruptions, and pods that are evicted. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PriorityClass } from '#api/scheduling/v1/kinds.gen.ts'
import { Job, Node, Pod, seededRandom, startCluster, VirtualClock } from '#index.ts'
import { inVirtualTime } from '../support/in-virtual-time.ts'

for (const how of ['by the API', 'by a taint', 'with its node', 'by a pod of higher priority'] as const) {
  test(`a job that ignores DisruptionTarget does not fail when its pod is evicted ${how}, though no failure is allowed`, {
    timeout: 240_000,
  }, async () => {
    const clock = new VirtualClock()
    const cluster = await inVirtualTime(clock, startCluster({ clock, random: seededRandom(1), simNodes: 2 }))
    try {
      const { client } = cluster
      const rules = [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }]
      const template = {
        metadata: { labels: { app: 'work' }, annotations: { 'sim.typernetes.dev/exit-after': '60s' } },
        spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'app:1', resources: { requests: { cpu: '100m' } } }] },
      }
      await client.create(Job, {
        metadata: { namespace: 'default', name: 'work' },
        spec: { backoffLimit: 0, podFailurePolicy: { rules }, template },
      })
      await clock.advance({ seconds: 20 })
      const [pod] = (await client.list(Pod, { namespace: 'default' })).items
      assert.equal(pod?.status?.phase, 'Running')
      const name = pod?.metadata.name ?? ''
      if (how === 'by the API') {
        const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'default' } }
        await client.subresource('POST', Pod, { namespace: 'default', name }, 'eviction', eviction)
      } else if (how === 'with its node') {
        await client.delete(Node, { name: pod?.spec.nodeName ?? '' })
      } else if (how === 'by a pod of higher priority') {
        await client.create(PriorityClass, { metadata: { name: 'high' }, value: 1000 })
        const resources = { requests: { cpu: (await client.get(Node, '', pod?.spec.nodeName ?? '')).status?.allocatable?.['cpu'] ?? '' } }
        const spec = {
          priorityClassName: 'high',
          nodeName: '',
          nodeSelector: { 'kubernetes.io/hostname': pod?.spec.nodeName ?? '' },
          containers: [{ name: 'a', image: 'a', resources }],
        }
        await client.create(Pod, { metadata: { namespace: 'default', name: 'high', labels: { app: 'high' } }, spec })
      } else {
        const node = await client.get(Node, '', pod?.spec.nodeName ?? '')
        await client.update(Node, { ...node, spec: { ...node.spec, taints: [{ key: 'gone', effect: 'NoExecute' }] } })
      }
      await clock.advance({ minutes: 5 })
      const { status } = await client.get(Job, 'default', 'work')
      assert.deepEqual([status?.succeeded, status?.failed ?? 0], [1, 0], JSON.stringify(status))
    } finally {
      await inVirtualTime(clock, cluster.stop())
    }
  })
}

test('an evicted pod bears the condition that tells disruptions from failures, and what the evicter asked for still holds', {
  timeout: 240_000,
}, async () => {
  const clock = new VirtualClock()
  const cluster = await inVirtualTime(clock, startCluster({ clock, random: seededRandom(1) }))
  const { client } = cluster
  try {
    const evict = (preconditions: Record<string, string> = {}, dryRun: string[] = []) =>
      client.subresource('POST', Pod, { namespace: 'default', name: 'a' }, 'eviction', {
        ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a', namespace: 'default' } },
        deleteOptions: { preconditions, dryRun },
      })
    const conditions = async () => {
      const { metadata, status } = await client.get(Pod, 'default', 'a')
      const condition = status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
      return { isEnding: metadata.deletionTimestamp !== undefined, status: condition?.status, reason: condition?.reason }
    }
    const { metadata } = await client.create(Pod, {
      metadata: { namespace: 'default', name: 'a', finalizers: ['example.com/stay'] },
      spec: { containers: [{ name: 'a', image: 'a' }] },
    })
    const untouched = { isEnding: false, status: undefined, reason: undefined }
    await evict({}, ['All'])
    assert.deepEqual(await conditions(), untouched, 'a dry run')
    await assert.rejects(evict({ uid: 'another' }), /the UID in the precondition \(another\)/)
    assert.deepEqual(await conditions(), untouched, 'another pod was meant')
    const { metadata: now } = await client.get(Pod, 'default', 'a')
    await evict({ uid: metadata.uid ?? '', resourceVersion: now.resourceVersion ?? '' })
    assert.deepEqual(await conditions(), { isEnding: true, status: 'True', reason: 'EvictionByEvictionAPI' })
  } finally {
    await inVirtualTime(clock, cluster.stop())
  }
})
