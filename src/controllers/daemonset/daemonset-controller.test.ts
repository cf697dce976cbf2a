import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ControllerRevision, DaemonSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1DaemonSet, V1DaemonSetUpdateStrategy } from '#api/apps/v1/types.gen.ts'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { defined } from '#base/defined.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const controllers = ['daemonset', 'garbagecollector']

const aDaemonSet = (updateStrategy?: V1DaemonSetUpdateStrategy): V1DaemonSet => ({
  metadata: { namespace: 'default', name: 'agent' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: { metadata: { labels: { app: 'agent' } }, spec: { containers: [{ name: 'main', image: 'a:1' }] } },
    ...defined({ updateStrategy }),
  },
})

const placement = async (cluster: FakeCluster) =>
  (await cluster.list(Pod, 'default')).map(({ spec }) => `${spec.nodeName} ${spec.containers[0]?.image}`).sort()

const setImage = (image: string) => (daemonSet: V1DaemonSet) => {
  const container = daemonSet.spec?.template.spec?.containers[0]
  if (container) container.image = image
}

test('every node gets a pod: those that are there, those that come; and a tainted one loses it', async () => {
  await using cluster = await FakeCluster.start({ controllers, nodeCount: 2 })
  await cluster.create(DaemonSet, aDaemonSet())
  await cluster.advance({ seconds: 5 })
  assert.deepEqual(await placement(cluster), ['node-1 a:1', 'node-2 a:1'])
  await cluster.nodes.addNode('node-9')
  await cluster.advance({ seconds: 5 })
  assert.deepEqual(await placement(cluster), ['node-1 a:1', 'node-2 a:1', 'node-9 a:1'])
  const { status } = await cluster.get(DaemonSet, 'default', 'agent')
  assert.deepEqual(
    [status?.desiredNumberScheduled, status?.numberReady, status?.numberAvailable, status?.updatedNumberScheduled],
    [3, 3, 3, 3],
  )
  await cluster.change(Node, '', 'node-1', ({ spec }) => void Object.assign(spec ?? {}, { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }))
  await cluster.change(Node, '', 'node-2', ({ spec }) => void Object.assign(spec ?? {}, { taints: [{ key: 'gpu', effect: 'NoExecute' }] }))
  await cluster.advance({ seconds: 5 })
  // What only keeps new pods away leaves those that are there.
  assert.deepEqual(await placement(cluster), ['node-1 a:1', 'node-9 a:1'])
  assert.equal((await cluster.get(DaemonSet, 'default', 'agent')).status?.numberMisscheduled, 1)
})

const strategies: [name: string, rollingUpdate: object, mostPods: number, fewestReady: number][] = [
  ['one at a time', {}, 4, 3],
  ['two at a time', { maxUnavailable: 2 }, 4, 2],
  ['with surge', { maxSurge: 1, maxUnavailable: 0 }, 5, 4],
]
for (const [name, rollingUpdate, mostPods, fewestReady] of strategies) {
  test(`a roll, ${name}, keeps ${fewestReady} of 4 pods ready and never has more than ${mostPods}`, async () => {
    await using cluster = await FakeCluster.start({ controllers, nodeCount: 4 })
    await cluster.create(DaemonSet, aDaemonSet({ type: 'RollingUpdate', rollingUpdate }))
    await cluster.advance({ seconds: 5 })
    await cluster.change(DaemonSet, 'default', 'agent', setImage('a:2'))
    for (let step = 0; step < 200; step++) {
      await cluster.advance(100)
      const pods = (await cluster.list(Pod, 'default')).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      const ready = pods.filter(({ status }) => status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'))
      assert.ok(pods.length <= mostPods, `${pods.length} pods`)
      assert.ok(ready.length >= fewestReady, `${ready.length} ready`)
    }
    assert.deepEqual(await placement(cluster), ['node-1 a:2', 'node-2 a:2', 'node-3 a:2', 'node-4 a:2'])
    const revisions = (await cluster.list(ControllerRevision, 'default')).map(({ revision }) => revision)
    assert.deepEqual(revisions.sort(), [1, 2])
  })
}

test('going back to an earlier template makes its revision the newest; with OnDelete pods change when they are deleted', async () => {
  await using cluster = await FakeCluster.start({ controllers, nodeCount: 1 })
  await cluster.create(DaemonSet, aDaemonSet({ type: 'OnDelete' }))
  await cluster.advance({ seconds: 5 })
  for (const image of ['a:2', 'a:1']) {
    await cluster.change(DaemonSet, 'default', 'agent', setImage(image))
    await cluster.advance({ seconds: 5 })
  }
  assert.deepEqual((await cluster.list(ControllerRevision, 'default')).map(({ revision }) => revision).sort(), [2, 3])
  await cluster.change(DaemonSet, 'default', 'agent', setImage('a:3'))
  await cluster.advance({ seconds: 5 })
  assert.deepEqual(await placement(cluster), ['node-1 a:1'])
  await cluster.client.delete(Pod, (await cluster.list(Pod, 'default'))[0]?.metadata ?? {})
  await cluster.advance({ seconds: 5 })
  assert.deepEqual(await placement(cluster), ['node-1 a:3'])
})

test('a revision keeps the bytes that upstream would write: keys in order, what HTML could read escaped', async () => {
  await using cluster = await FakeCluster.start({ controllers, nodeCount: 1 })
  const daemonSet = aDaemonSet()
  const { template } = daemonSet.spec as NonNullable<V1DaemonSet['spec']>
  template.spec = { nodeSelector: { z: '1', a: '2' }, containers: [{ name: 'main', image: 'a:1', command: ['sh', '-c', 'a && b <c'] }] }
  await cluster.create(DaemonSet, daemonSet)
  await cluster.advance({ seconds: 5 })
  const text = await cluster.client.raw('/apis/apps/v1/namespaces/default/controllerrevisions')
  const data = /"data":(\{.*?\}),"revision"/.exec(text)?.[1] ?? ''
  assert.match(
    data,
    /^\{"spec":\{"template":\{"\$patch":"replace","metadata":\{"labels":\{"app":"agent"\}\},"spec":\{"containers":\[\{"command":\["sh","-c","a \\u0026\\u0026 b \\u003cc"\],"image":/,
  )
  assert.match(data, /"nodeSelector":\{"a":"2","z":"1"\}/)
})
