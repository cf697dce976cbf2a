/** The vertical pod autoscaler over simulated nodes in virtual time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PocVerticalPodAutoscaler, VerticalPodAutoscaler, VerticalPodAutoscalerCheckpoint } from '#api/autoscaling/vertical/definitions.ts'
import { Event, Pod } from '#api/core/v1/kinds.gen.ts'
import { milliValueOf, wholeValueOf } from '#api/meta/quantity.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import { Deployment, seededRandom, startCluster, VirtualClock } from '#index.ts'
import { inVirtualTime } from '../support/in-virtual-time.ts'

const namespace = 'default'

test('pods get what they use: in time, within budgets, in place or anew, as each autoscaler says', { timeout: 240_000 }, async () => {
  const clock = new VirtualClock()
  const cluster = await inVirtualTime(clock, startCluster({ clock, random: seededRandom(1), simNodes: 2, verticalPodAutoscaler: true }))
  try {
    const { client } = cluster
    const deploy = (name: string, replicas: number) => {
      const labels = { app: name }
      const annotations = { 'sim.typernetes.dev/cpu': '400m', 'sim.typernetes.dev/memory': '500Mi' }
      const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m' } }
      const template = { metadata: { labels, annotations }, spec: { containers: [{ name: 'main', image: 'app:1', resources }] } }
      return client.create(Deployment, { metadata: { namespace, name }, spec: { replicas, selector: { matchLabels: labels }, template } })
    }
    const autoscale = (name: string, updateMode: 'Off' | 'Initial' | 'Auto' | 'InPlaceOrRecreate', minReplicas?: number) =>
      client.create(VerticalPodAutoscaler, {
        metadata: { namespace, name },
        spec: {
          targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
          updatePolicy: { updateMode, ...(minReplicas === undefined ? {} : { minReplicas }) },
          resourcePolicy: { containerPolicies: [{ containerName: '*', maxAllowed: { memory: '400Mi' } }] },
        },
      })
    for (const name of ['auto', 'inplace', 'off', 'initial', 'poc']) await deploy(name, 3)
    await deploy('alone', 1)
    await client.create(PodDisruptionBudget, {
      metadata: { namespace, name: 'auto' },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'auto' } } },
    })
    await autoscale('auto', 'Auto')
    await autoscale('inplace', 'InPlaceOrRecreate')
    await autoscale('off', 'Off')
    await autoscale('initial', 'Initial')
    await autoscale('alone', 'Auto')
    await client.create(PocVerticalPodAutoscaler, {
      metadata: { namespace, name: 'poc' },
      spec: { selector: { matchLabels: { app: 'poc' } }, updatePolicy: { updateMode: 'Auto' } },
    })
    await clock.advance({ seconds: 20 })
    const podsOf = async (name: string) => (await client.list(Pod, { namespace, labelSelector: `app=${name}` })).items
    const first = new Map<string, string[]>()
    for (const name of ['auto', 'inplace', 'off', 'initial', 'alone', 'poc'])
      first.set(
        name,
        (await podsOf(name)).map(({ metadata }) => metadata.uid ?? ''),
      )
    let fewest = 3
    for (let minute = 0; minute < 20; minute++) {
      await clock.advance({ minutes: 1 })
      const ready = (await podsOf('auto')).filter(({ status, metadata }) => status?.phase === 'Running' && !metadata.deletionTimestamp)
      if (minute > 2) fewest = Math.min(fewest, ready.length)
    }
    assert.ok(fewest >= 2, `${fewest} pods were left`)

    const { status } = await client.get(VerticalPodAutoscaler, namespace, 'off')
    const [recommended] = status?.recommendation?.containerRecommendations ?? []
    const cpu = milliValueOf(recommended?.target['cpu'])
    assert.ok(cpu >= 440 && cpu <= 500, `${cpu}m of CPU`)
    assert.equal(recommended?.target['memory'], '400Mi')
    assert.ok(wholeValueOf(recommended?.uncappedTarget?.['memory']) > 500 * 1024 * 1024)
    assert.equal(status?.conditions?.find(({ type }) => type === 'RecommendationProvided')?.status, 'True')

    const requests = async (name: string) => (await podsOf(name)).map(({ spec }) => spec.containers[0]?.resources?.requests ?? {})
    const uids = async (name: string) => new Set((await podsOf(name)).map(({ metadata }) => metadata.uid ?? ''))
    const areSame = async (name: string) =>
      (first.get(name) ?? []).every((uid) => uid !== '') && new Set(first.get(name)).isSubsetOf(await uids(name))
    const isBig = (amounts: Record<string, string>) => milliValueOf(amounts['cpu']) >= 440
    for (const name of ['auto', 'inplace', 'poc'])
      assert.ok((await requests(name)).every(isBig), `${name}: ${JSON.stringify(await requests(name))}`)
    for (const name of ['off', 'initial', 'alone']) assert.ok(!(await requests(name)).some(isBig), name)
    assert.deepEqual(
      [await areSame('auto'), await areSame('poc'), await areSame('inplace'), await areSame('off')],
      [false, false, true, true],
    )
    const [changed] = await podsOf('auto')
    const limit = milliValueOf(changed?.spec.containers[0]?.resources?.limits?.['cpu'])
    assert.equal(limit, 2 * milliValueOf(changed?.spec.containers[0]?.resources?.requests?.['cpu']))
    assert.match(
      changed?.metadata.annotations?.['vpaUpdates'] ?? '',
      /^Pod resources updated by auto: container 0: cpu request, memory request, cpu limit$/,
    )
    const reasons = new Set((await client.list(Event, { namespace })).items.map(({ reason }) => reason))
    assert.ok(reasons.has('EvictedByVPA') && reasons.has('InPlaceResizedByVPA'), [...reasons].join())

    const [fresh] = await podsOf('initial')
    await client.delete(Pod, { namespace, name: fresh?.metadata.name ?? '' })
    await clock.advance({ minutes: 2 })
    assert.equal((await requests('initial')).filter(isBig).length, 1)

    const poc = await client.get(PocVerticalPodAutoscaler, namespace, 'poc')
    assert.ok(milliValueOf(poc.status?.recommendation?.containerRecommendations?.[0]?.target['cpu']) >= 440)
    const checkpoint = await client.get(VerticalPodAutoscalerCheckpoint, namespace, 'auto-main')
    assert.ok((checkpoint.status?.totalSamplesCount ?? 0) > 10 && (checkpoint.status?.cpuHistogram?.totalWeight ?? 0) > 0)
  } finally {
    await inVirtualTime(clock, cluster.stop())
  }
})
