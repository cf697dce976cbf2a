/** The metrics API and what scales by it, over simulated nodes in virtual time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import { HorizontalPodAutoscaler } from '#api/autoscaling/v2/kinds.gen.ts'
import { Deployment, seededRandom, startCluster, VirtualClock } from '#index.ts'

async function inTime<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const note = () => {
    isSettled = true
  }
  promise.then(note, note)
  while (!isSettled) {
    await clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return promise
}

test('a deployment whose pods are busy grows by itself, shrinks when they rest, and is seen by kubectl top', {
  timeout: 120_000,
}, async () => {
  const clock = new VirtualClock()
  const cluster = await inTime(clock, startCluster({ clock, random: seededRandom(1), simNodes: 2 }))
  try {
    const { client } = cluster
    const labels = { app: 'web' }
    // Busy from the third minute of each pod's life on, at rest from the twentieth.
    const annotations = { 'sim.typernetes.dev/cpu': '20m,20m@3m,190m@4m,190m@20m,10m@21m' }
    const containers = [{ name: 'main', image: 'app:1', resources: { requests: { cpu: '100m', memory: '64Mi' } } }]
    await client.create(Deployment, {
      metadata: { namespace: 'default', name: 'web' },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels, annotations }, spec: { containers } } },
    })
    await client.create(HorizontalPodAutoscaler, {
      metadata: { namespace: 'default', name: 'web' },
      spec: {
        ...{ minReplicas: 1, maxReplicas: 5, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
      },
    })
    const replicas = async () => (await client.get(Deployment, 'default', 'web')).spec.replicas
    await clock.advance({ minutes: 2 })
    assert.equal(await replicas(), 1)
    const { items } = JSON.parse(await inTime(clock, client.raw('/apis/metrics.k8s.io/v1beta1/namespaces/default/pods'))) as {
      items: { containers: { name: string; usage: object }[] }[]
    }
    assert.deepEqual(
      items.map((item) => item.containers),
      [[{ name: 'main', usage: { cpu: '20000000n', memory: '65536Ki' } }]],
    )
    await clock.advance({ minutes: 10 })
    assert.equal(await replicas(), 5)
    await clock.advance({ minutes: 40 })
    assert.equal(await replicas(), 1)

    await client.delete(APIService, { name: 'v1beta1.metrics.k8s.io' })
    await clock.advance({ seconds: 40 })
    const { status } = await client.get(APIService, '', 'v1beta1.metrics.k8s.io')
    assert.equal(status?.conditions?.[0]?.status, 'True', 'it comes back')

    // As everybody installs theirs: with create, and a service of that name.
    const spec = {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
    }
    const service = { namespace: 'kube-system', name: 'metrics-server', port: 443 }
    await client.create(APIService, { metadata: { name: 'v1beta1.metrics.k8s.io' }, spec: { ...spec, service } })
    await assert.rejects(
      client.create(APIService, { metadata: { name: 'v1beta1.metrics.k8s.io' }, spec: { ...spec, service } }),
      /already exists/,
    )
  } finally {
    await inTime(clock, cluster.stop())
  }
})
