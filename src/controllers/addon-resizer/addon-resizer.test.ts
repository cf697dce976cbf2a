import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { addonResizer, parseAnnotation } from '#controllers/addon-resizer/addon-resizer.ts'
import { directionOf, estimateResources } from '#controllers/addon-resizer/estimate-resources.ts'
import type { Outcome, ResizedAddon } from '#controllers/addon-resizer/resize-addon.ts'
import { failingWrite } from '#testing/failing-write.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const needs = { cpu: { base: '300m', extra: '2m' }, memory: { base: '200Mi', extra: '1Mi' } }

test('what is needed grows with the cluster, by parts of a unit too, or in steps', () => {
  const linear = { kind: 'linear' } as const
  assert.deepEqual(estimateResources(needs, 0, linear), { cpu: '300m', memory: '200Mi' })
  assert.deepEqual(estimateResources(needs, 10, linear), { cpu: '320m', memory: '210Mi' })
  assert.deepEqual(estimateResources({ cpu: { base: '0', extra: '0.5m' } }, 5, linear), { cpu: '2500u' })
  const steps = { kind: 'exponential', minClusterSize: 16 } as const
  const sizes = [1, 16, 17, 24, 25, 36, 37].map((size) => estimateResources(needs, size, steps)['memory'])
  assert.deepEqual(sizes, ['216Mi', '216Mi', '224Mi', '224Mi', '236Mi', '236Mi', '254Mi'])
})

test('nothing changes within the threshold; the first resource beyond it says in which direction', () => {
  const both = (cpu: string, memory: string) => ({ limits: { cpu, memory }, requests: { cpu, memory } })
  const expected = { cpu: '1', memory: '100Mi' }
  assert.equal(directionOf(both('1', '100Mi'), expected, 0), undefined)
  assert.equal(directionOf(both('950m', '105Mi'), expected, 5), undefined)
  assert.equal(directionOf(both('940m', '200Mi'), expected, 5), 'up')
  assert.equal(directionOf(both('1', '107Mi'), expected, 5), 'down')
  assert.equal(directionOf({ limits: { cpu: '1', memory: '100Mi' } }, expected, 5), 'other')
  assert.equal(directionOf(both('1', '100Mi'), { cpu: '1' }, 5), 'other')
})

async function addDeployment(cluster: FakeCluster, annotations: Record<string, string> = {}): Promise<void> {
  const labels = { app: 'ms' }
  const containers = [
    { name: 'side', image: 'i' },
    { name: 'main', image: 'i', resources: { limits: { 'example.com/gpu': '1' } } },
  ]
  await cluster.create(Deployment, {
    metadata: { namespace: 'default', name: 'ms', annotations },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  })
}

const resources = async (cluster: FakeCluster) =>
  (await cluster.get(Deployment, 'default', 'ms')).spec?.template.spec?.containers[1]?.resources

const perNode = { cpu: { base: '300m', extra: '50m' }, memory: { base: '200Mi', extra: '10Mi' } }

const addon: ResizedAddon = {
  ...{ namespace: 'default', deployment: 'ms', container: 'main', pod: '', needs: perNode, estimator: { kind: 'linear' } },
  ...{ thresholdPercent: 0, scaleUpDelayMs: 0, scaleDownDelayMs: 120_000, scalingMode: 'node-proportional' },
}

test('a container gets what the number of nodes asks for, less only after a delay, and keeps what else it has', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const outcomes: string[] = []
  const onOutcome = (outcome: Outcome | 'error_getting_count') => outcomes.push(outcome)
  await using _ = await cluster.run([addonResizer({ addon, periodMs: 10_000, onOutcome })])
  await cluster.advance({ seconds: 1 })
  assert.deepEqual(outcomes, ['error_getting_resources'])
  await addDeployment(cluster)
  for (const name of ['a', 'b']) await cluster.create(Node, { metadata: { name }, spec: {} })
  await cluster.advance({ seconds: 15 })
  assert.deepEqual(await resources(cluster), {
    limits: { cpu: '400m', memory: '220Mi', 'example.com/gpu': '1' },
    requests: { cpu: '400m', memory: '220Mi' },
  })
  await cluster.client.delete(Node, { name: 'b' })
  await cluster.advance({ seconds: 60 })
  assert.equal((await resources(cluster))?.limits?.['cpu'], '400m')
  assert.equal(outcomes.at(-1), 'scale_up_down_delay')
  await cluster.advance({ seconds: 90 })
  assert.equal((await resources(cluster))?.limits?.['cpu'], '350m')
  assert.equal(outcomes.at(-1), 'resources_within_limits')
})

for (const how of ['refused', 'lost'] as const) {
  test(`switched on by name it follows annotations, by containers too, though a write is ${how}`, async () => {
    const count = { writes: 0 }
    await using cluster = await FakeCluster.start({
      ...{ withoutNodes: true, controllers: ['addon-resizer'] },
      through: (transport) => failingWrite(transport, { at: 1, how }, count),
    })
    const settings = 'cpu=100m extra-cpu=10m scaling-mode=container-proportional'
    await addDeployment(cluster, { 'addon-resizer.typernetes.dev/main': settings, 'addon-resizer.typernetes.dev/side': 'cpu=nonsense' })
    const containers = [
      { name: 'a', image: 'i' },
      { name: 'b', image: 'i' },
    ]
    await cluster.create(Pod, { metadata: { namespace: 'default', name: 'p' }, spec: { containers } })
    await cluster.advance({ seconds: 35 })
    assert.equal((await resources(cluster))?.requests?.['cpu'], '120m')
    assert.ok(count.writes >= 2)
  })
}

test('a setting that cannot be is named', () => {
  for (const [text, message] of [
    ['cpu=x', /x is not a valid quantity of cpu/],
    ['cpus=1', /"cpus" is not a known setting/],
    ['estimator=square', /Estimator square not supported/],
    ['scaling-mode=moon', /scaling mode moon not supported/],
    ['estimator=exponential minClusterSize=1', /minClusterSize must be greater than 1/],
    ['estimator=exponential minClusterSize=1.2', /minClusterSize must be a whole number/],
    ['threshold=101', /Threshold must be between 0 and 100 inclusive/],
  ] as const)
    assert.throws(() => parseAnnotation(text), message)
})
