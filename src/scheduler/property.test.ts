/** Over thousands of random clusters: what is placed breaks no rule, and what can be placed is. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Node, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { brokenRule } from '#scheduler/testing/brute-force.ts'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'
import { aNode, aPod, byLabel } from '#scheduler/testing/objects.ts'

const clusters = 2000
const zone = 'topology.kubernetes.io/zone'
const host = 'kubernetes.io/hostname'

const oneOf = <T>(random: Random, values: readonly T[]): T => values[random.int(values.length)] as T
const sometimes = (random: Random, percent: number): boolean => random.int(100) < percent

function randomNode(random: Random, index: number): V1Node {
  return aNode(`n${index}`, {
    cpu: oneOf(random, ['1', '2', '4']),
    memory: oneOf(random, ['1Gi', '4Gi']),
    pods: oneOf(random, ['2', '4', '110']),
    ...defined({ zone: sometimes(random, 85) ? oneOf(random, ['x', 'y', 'z']) : undefined }),
    labels: { disk: oneOf(random, ['ssd', 'hdd']) },
    ...defined({ taints: sometimes(random, 15) ? [{ key: 'k', effect: 'NoSchedule' }] : undefined }),
    unschedulable: sometimes(random, 5),
  })
}

function randomPod(random: Random, name: string): V1Pod {
  const app = oneOf(random, ['web', 'db'])
  const spec: Partial<V1PodSpec> = {}
  if (sometimes(random, 20)) spec.nodeSelector = { disk: 'ssd' }
  if (sometimes(random, 20)) spec.tolerations = [{ key: 'k', operator: 'Exists' }]
  if (sometimes(random, 20)) {
    const topologyKey = oneOf(random, [zone, host])
    spec.topologySpreadConstraints = [
      { topologyKey, maxSkew: 1 + random.int(2), whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app } } },
    ]
  }
  return aPod(name, {
    namespace: oneOf(random, ['one', 'two']),
    labels: { app },
    ...defined({
      cpu: sometimes(random, 80) ? oneOf(random, ['100m', '500m', '1500m']) : undefined,
      memory: sometimes(random, 50) ? oneOf(random, ['256Mi', '1Gi']) : undefined,
      hostPort: sometimes(random, 15) ? 80 : undefined,
      apartFrom: sometimes(random, 15) ? byLabel({ app: oneOf(random, ['web', 'db']) }, oneOf(random, [zone, host])) : undefined,
      near: sometimes(random, 10) ? byLabel({ app: oneOf(random, ['web', 'db']) }, oneOf(random, [zone, host])) : undefined,
    }),
    spec,
  })
}

test(`no rule is broken and no place overlooked in ${clusters} random clusters`, async () => {
  let placements = 0
  let refusals = 0
  for (let seed = 1; seed <= clusters; seed++) {
    const random = seededRandom(seed)
    await using cluster = new FakeCluster({ seed })
    const nodes = Array.from({ length: 1 + random.int(8) }, (_, index) => randomNode(random, index))
    cluster.put('Node', ...nodes)
    const placed: V1Pod[] = []
    for (let index = 0; index < 12; index++) {
      const pod = randomPod(random, `p${index}`)
      const possible = nodes.filter((node) => brokenRule(pod, node, nodes, placed) === undefined).map(({ metadata }) => metadata.name)
      // Pods that wait must not be woken by what comes after them, or they would race with it.
      cluster.put('Pod', pod)
      await cluster.settle()
      const { nodeName } = cluster.pod(`p${index}`, pod.metadata.namespace).spec
      const message = `seed ${seed}, pod ${index}: on ${nodeName}, possible ${possible}`
      if (nodeName === undefined) {
        assert.equal(possible.length, 0, message)
        refusals++
        cluster.remove('Pod', `p${index}`, pod.metadata.namespace)
      } else {
        assert.ok(possible.includes(nodeName), message)
        placements++
        placed.push({ ...pod, spec: { ...pod.spec, nodeName } })
      }
      if (sometimes(random, 15) && placed.length > 0) {
        const [gone] = placed.splice(random.int(placed.length), 1)
        cluster.remove('Pod', gone?.metadata.name ?? '', gone?.metadata.namespace)
      }
      if (sometimes(random, 5)) relabel(random, nodes, cluster)
    }
  }
  assert.ok(placements > clusters && refusals > clusters, `${placements} placed, ${refusals} not`)
})

/** A node that moves to another zone takes the pods it has along, whatever they think of it. */
function relabel(random: Random, nodes: V1Node[], cluster: FakeCluster): void {
  const index = random.int(nodes.length)
  const node = nodes[index] as V1Node
  const moved = { ...node, metadata: { ...node.metadata, labels: { ...node.metadata.labels, [zone]: oneOf(random, ['x', 'y', 'z']) } } }
  nodes[index] = moved
  cluster.put('Node', moved)
}

test('resources are never given twice, however many ask at once and however bindings fail', async () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = seededRandom(seed)
    await using cluster = new FakeCluster({ seed })
    cluster.beforeBind = async () => {
      await cluster.clock.sleep(random.int(5000))
      if (sometimes(random, 20)) throw new Error('no')
    }
    const nodes = Array.from({ length: 5 }, (_, index) => aNode(`n${index}`, { cpu: '4' }))
    cluster.put('Node', ...nodes)
    for (let index = 0; index < 30; index++) cluster.put('Pod', aPod(`p${index}`, { cpu: oneOf(random, ['1', '2', '3']) }))
    await cluster.clock.advance({ minutes: 10 })
    const used = new Map<string, number>()
    for (const [name, nodeName] of Object.entries(cluster.placements())) {
      if (nodeName === undefined) continue
      used.set(nodeName, (used.get(nodeName) ?? 0) + Number(cluster.pod(name).spec.containers[0]?.resources?.requests?.['cpu']))
    }
    for (const [nodeName, cpu] of used) assert.ok(cpu <= 4, `seed ${seed}: ${nodeName} gave ${cpu} of 4 cpus`)
    assert.equal(cluster.scheduler.cache.sizes.assumed, 0, `seed ${seed}: nothing is left in the air`)
  }
})
