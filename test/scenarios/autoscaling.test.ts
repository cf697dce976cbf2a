/** The metrics API and what scales by it, over simulated nodes in virtual time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import { HorizontalPodAutoscaler } from '#api/autoscaling/v2/kinds.gen.ts'
import type { V2MetricSpec } from '#api/autoscaling/v2/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { Deployment, seededRandom, startCluster, VirtualClock } from '#index.ts'
import { inVirtualTime } from '../support/in-virtual-time.ts'

test('a deployment whose pods are busy grows by itself, shrinks when they rest, and is seen by kubectl top', {
  timeout: 240_000,
}, async () => {
  const clock = new VirtualClock()
  const cluster = await inVirtualTime(clock, startCluster({ clock, random: seededRandom(1), simNodes: 2 }))
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
    const { items } = JSON.parse(await inVirtualTime(clock, client.raw('/apis/metrics.k8s.io/v1beta1/namespaces/default/pods'))) as {
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
    await inVirtualTime(clock, cluster.stop())
  }
})

test('metrics that are pushed scale by pods, by an object and from outside, until they are old', { timeout: 240_000 }, async () => {
  const clock = new VirtualClock()
  const cluster = await inVirtualTime(clock, startCluster({ clock, random: seededRandom(1), metricsAdapter: {} }))
  try {
    const { client } = cluster
    const namespace = 'default'
    const scale = async (name: string, metrics: V2MetricSpec[]) => {
      const labels = { app: name }
      const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'app:1' }] } }
      await client.create(Deployment, { metadata: { namespace, name }, spec: { selector: { matchLabels: labels }, template } })
      const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name }
      await client.create(HorizontalPodAutoscaler, { metadata: { namespace, name }, spec: { scaleTargetRef, maxReplicas: 8, metrics } })
    }
    const average = (averageValue: string) => ({ type: 'AverageValue', averageValue })
    const describedObject = { apiVersion: 'v1', kind: 'Service', name: 'web' }
    await scale('pods', [{ type: 'Pods', pods: { metric: { name: 'qps' }, target: average('10') } }])
    await scale('object', [{ type: 'Object', object: { describedObject, metric: { name: 'hits' }, target: average('100') } }])
    await scale('external', [
      { type: 'External', external: { metric: { name: 'jobs', selector: { matchLabels: { queue: 'a' } } }, target: average('5') } },
    ])
    const custom = `/apis/custom.metrics.k8s.io/v1beta2/namespaces/${namespace}`
    const push = async (path: string, value: unknown) => void (await inVirtualTime(clock, client.post(path, JSON.stringify(value))))
    const pushAll = async () => {
      const { items } = await client.list(Pod, { namespace, labelSelector: 'app=pods' })
      for (const { metadata } of items) await push(`${custom}/pods/${metadata.name}/qps`, items.length > 2 ? 10 : '20')
      await push(`${custom}/services/web/hits`, { value: '300', windowSeconds: 60 })
      await push(`/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/jobs`, { value: 24, labels: { queue: 'a' } })
      await push(`/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/jobs`, { value: 2400, labels: { queue: 'b' } })
    }
    for (let minute = 0; minute < 6; minute++) {
      await pushAll()
      await clock.advance({ minutes: 1 })
    }
    const replicas = async () =>
      Promise.all(['pods', 'object', 'external'].map(async (name) => (await client.get(Deployment, namespace, name)).spec.replicas))
    assert.deepEqual(await replicas(), [4, 3, 5])
    await assert.rejects(client.post(`${custom}/pods/x/qps`, '"much"'), /is pushed as a quantity/)
    const viewer = cluster.clientAs('somebody')
    await assert.rejects(viewer.post(`${custom}/pods/x/qps`, '1'), /forbidden/)

    // Nobody pushes any more: what is old is not believed, and nothing changes.
    await clock.advance({ minutes: 8 })
    assert.deepEqual(await replicas(), [4, 3, 5])
    const { status } = await client.get(HorizontalPodAutoscaler, namespace, 'external')
    assert.equal(status?.conditions?.find(({ type }) => type === 'ScalingActive')?.reason, 'FailedGetExternalMetric')
  } finally {
    await inVirtualTime(clock, cluster.stop())
  }
})
