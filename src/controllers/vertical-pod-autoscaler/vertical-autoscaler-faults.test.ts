import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import {
  VerticalPodAutoscaler,
  VerticalPodAutoscalerCheckpoint,
  verticalAutoscalerResources,
} from '#api/autoscaling/vertical/definitions.ts'
import { LimitRange, Pod } from '#api/core/v1/kinds.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { silentLogger } from '#base/log.ts'
import { Client } from '#client/client.ts'
import type { Transport, TransportResponse } from '#client/transport.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { startVerticalAutoscaler } from '#controllers/vertical-pod-autoscaler/start-vertical-autoscaler.ts'
import { everyWriteFails, type Fault } from '#testing/every-write-fails.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const namespace = 'default'

/** Every pod uses 400m of CPU and 300Mi. */
function measuring(transport: Transport, cluster: FakeCluster): Transport {
  return {
    async send(request) {
      if (!request.target.startsWith('/apis/metrics.k8s.io/')) return transport.send(request)
      const timestamp = formatTime(cluster.clock.now())
      const usage = { cpu: '400m', memory: '300Mi' }
      const items = (await cluster.list(Pod)).map(({ metadata }) => ({ metadata, timestamp, containers: [{ name: 'main', usage }] }))
      return { status: 200, header: () => undefined, text: async () => JSON.stringify({ items }) } as unknown as TransportResponse
    },
  }
}

/** What it writes of each autoscaler has a count of its own. Definitions have none: whoever starts it starts it again. */
function faulty(transport: Transport, fault: Fault): Transport {
  const roads = new Map<string, Transport>()
  return {
    send(request) {
      const [, writer] = /\/namespaces\/[^/]+\/((?:vertical\w+|pods)\/[a-z]+)/.exec(request.target) ?? []
      return (writer === undefined ? transport : roads.getOrInsertComputed(writer, () => fault(transport, writer))).send(request)
    },
  }
}

async function story(fault: Fault) {
  await using cluster = await FakeCluster.start({
    controllers: ['deployment', 'replicaset', 'disruption'],
    reportsResources: true,
    enableAdmissionPlugins: ['VerticalPodAutoscaler'],
  })
  const { client, clock, random } = cluster
  await Promise.all([installDefinitions(client, verticalAutoscalerResources, { clock }), cluster.advance({ seconds: 5 })])
  // A limit is twice its request: with a limit of at most 300m no request is above 150m.
  await cluster.create(LimitRange, { metadata: { namespace, name: 'l' }, spec: { limits: [{ type: 'Container', max: { cpu: '300m' } }] } })
  for (const [name, updateMode, recommenders] of [
    ['anew', 'Recreate', []],
    ['other', 'Recreate', [{ name: 'somebody-else' }]],
    ['web', 'InPlaceOrRecreate', []],
  ] as const) {
    const labels = { app: name }
    const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m' } }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'a', resources }] } }
    await cluster.create(Deployment, { metadata: { namespace, name }, spec: { replicas: 2, selector: { matchLabels: labels }, template } })
    await cluster.create(VerticalPodAutoscaler, {
      metadata: { namespace, name },
      spec: {
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
        recommenders: [...recommenders],
        updatePolicy: { updateMode },
        resourcePolicy: { containerPolicies: [{ containerName: '*', maxAllowed: { memory: '200Mi' } }] },
      },
    })
  }
  await cluster.advance({ seconds: 10 })
  const transport = measuring(faulty(cluster.transportAs('admin', ['system:masters']), fault), cluster)
  await using running = new AsyncDisposableStack()
  const own = new Client({ transport, userAgent: 'vpa' })
  const signal = new AbortController().signal
  await Promise.all([
    startVerticalAutoscaler(running, { client: own, clock, random, logger: silentLogger, signal }).catch(() => undefined),
    cluster.advance({ minutes: 13 }),
  ])
  const statusOf = async (name: string) =>
    (await cluster.get(VerticalPodAutoscaler, namespace, name)).status?.recommendation?.containerRecommendations?.[0]?.target
  return {
    resources: (await cluster.list(Pod, namespace))
      .map(({ metadata, spec }) => `${metadata.labels?.['app']}: ${JSON.stringify(spec.containers[0]?.resources)}`)
      .sort(),
    targets: [await statusOf('anew'), await statusOf('other'), await statusOf('web')],
    checkpoints: (await cluster.list(VerticalPodAutoscalerCheckpoint, namespace)).map(({ metadata }) => metadata?.name),
  }
}

test('pods get what is recommended within limit ranges and policies, whichever write is refused or lost', async () => {
  const { writes, end } = await everyWriteFails(story)
  const fitted = '{"limits":{"cpu":"300m"},"requests":{"cpu":"150m","memory":"200Mi"}}'
  const small = '{"limits":{"cpu":"200m"},"requests":{"cpu":"100m","memory":"64Mi"}}'
  assert.deepEqual(end.resources, [
    `anew: ${fitted}`,
    `anew: ${fitted}`,
    `other: ${small}`,
    `other: ${small}`,
    `web: ${fitted}`,
    `web: ${fitted}`,
  ])
  assert.deepEqual([end.targets[0] !== undefined, end.targets[1], end.targets[2] !== undefined], [true, undefined, true])
  assert.deepEqual(end.checkpoints, ['anew-main', 'web-main'])
  for (const [kind, count] of writes) assert.ok(count >= 2, `${count} writes of ${kind}`)
})
