/** A whole cluster as users start it, with groups of nodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { Deployment, seededRandom, startCluster, VirtualClock } from '#index.ts'
import { inVirtualTime } from '../support/in-virtual-time.ts'

test('a cluster without nodes gets those that its pods need, and old manifests of an autoscaler are taken', {
  timeout: 240_000,
}, async () => {
  const clock = new VirtualClock()
  const nodeGroups = ['0:4:small,cpu=2,memory=8Gi,boot=30s', '0:2:big,cpu=16,memory=64Gi']
  const cluster = await inVirtualTime(clock, startCluster({ clock, random: seededRandom(1), simNodes: 0, nodeGroups }))
  try {
    const { client } = cluster
    const labels = { app: 'web' }
    const containers = [{ name: 'main', image: 'app:1', resources: { requests: { cpu: '900m', memory: '1Gi' } } }]
    await client.create(Deployment, {
      metadata: { namespace: 'default', name: 'web' },
      spec: { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    })
    // As it stands in old books.
    const manifest = {
      metadata: { namespace: 'default', name: 'cluster-autoscaler', labels: { 'k8s-app': 'cluster-autoscaler' } },
      spec: {
        replicas: 1,
        selector: { matchLabels: { 'k8s-app': 'cluster-autoscaler' } },
        template: {
          metadata: { labels: { 'k8s-app': 'cluster-autoscaler' } },
          spec: {
            containers: [
              {
                image: 'cluster-autoscaler:latest',
                name: 'cluster-autoscaler',
                command: ['./cluster-autoscaler', '--nodes=1:3:k8s-worker-asg-1'],
              },
            ],
          },
        },
      },
    }
    await client.create({ ...Deployment, group: 'extensions', version: 'v1beta1' }, manifest)
    await clock.advance({ minutes: 2 })
    const { items } = await client.list(Pod, { namespace: 'default' })
    assert.deepEqual(
      items.map(({ status }) => status?.phase),
      ['Running', 'Running', 'Running', 'Running'],
    )
    const names = (await client.list(Node)).items.map(({ metadata }) => metadata.name)
    assert.deepEqual(names, ['small-1', 'small-2'])
    const { data } = await client.get(ConfigMap, 'kube-system', 'cluster-autoscaler-status')
    assert.match(data?.['status'] ?? '', /autoscalerStatus: Running/)
  } finally {
    await inVirtualTime(clock, cluster.stop())
  }
})
