/** Events and conditions are those that upstream has: read from its facts. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Deployment, ReplicaSet, StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import { CronJob, Job } from '#api/batch/v1/kinds.gen.ts'
import { ConfigMap, Event, Namespace, Node, Pod } from '#api/core/v1/kinds.gen.ts'
import type { Kind } from '#api/kind.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const root = join(import.meta.dirname, '..', '..')
const path = join(root, 'facts', 'events-and-conditions.tsv')

type Fact = { record: string; component: string; type: string; value: string; status: string; reasons: string }
let facts: Fact[] = []
before(() => {
  facts = readFileSync(path, 'utf8')
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => {
      const [record = '', component = '', type = '', value = '', status = '', reasons = ''] = line.split('\t')
      return { record, component, type, value, status, reasons }
    })
})

/** Where the events of upstream's components are told here. */
const rooms: Readonly<Record<string, string>> = {
  'kcm:controller_utils.go': 'controllers/workload',
  'kcm:cronjob': 'controllers/cronjob',
  'kcm:daemon': 'controllers/daemonset',
  'kcm:deployment': 'controllers/deployment',
  'kcm:disruption': 'controllers/disruption',
  'kcm:endpoint': 'controllers/endpoints',
  'kcm:endpointslice': 'controllers/endpointslice',
  'kcm:endpointslicemirroring': 'controllers/endpointslice-mirroring',
  'kcm:garbagecollector': 'controllers/garbage-collector',
  'kcm:job': 'controllers/job',
  'kcm:nodelifecycle': 'controllers/node-lifecycle',
  'kcm:podautoscaler': 'controllers/horizontal-pod-autoscaler',
  'kcm:resourceclaim': 'controllers/resourceclaim',
  'kcm:statefulset': 'controllers/statefulset',
  'kcm:tainteviction': 'controllers/taint-eviction',
  'kcm:util': 'controllers/node-lifecycle',
  'kcm:volume/attachdetach': 'controllers/attach-detach',
  'kcm:volume/ephemeral': 'controllers/ephemeral-volume',
  'kcm:volume/expand': 'controllers/persistent-volume-expander',
  'kcm:volume/selinuxwarning': 'controllers/selinux-warning',
  'kcm:volume/persistentvolume': 'controllers/persistent-volume-binder',
  'leader-election': 'client/leader-election',
}

/** Reasons nothing here can give, and why. */
const unrecorded: Readonly<Record<string, string>> = {
  FailedToListPods: 'caches are read without asking anybody',
  FailedToListEndpointSlices: 'caches are read without asking anybody',
  DeletingAllPods: 'upstream tells of it in code that nobody calls',
  NodeControllerEviction: 'upstream tells of it in code that nobody calls',
  UnParseableCronJobSchedule: 'told as UnparseableSchedule, by the one who looks at the schedule',
  ProvisioningCleanupFailed: 'nothing is provisioned by the binder itself',
  ProvisioningSucceeded: 'nothing is provisioned by the binder itself',
  VolumeDelete: 'nothing that the binder deletes can be in use elsewhere',
  WorkloadCreated: 'gangs of pods are an alpha feature',
}

const sourceOf = (room: string) =>
  globSync(`src/${room}/*.ts`, { cwd: root })
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n')

test('every event that upstream tells of is told here, in the same component', () => {
  const missing = facts
    .filter(({ record, component, value }) => record === 'event' && rooms[component] !== undefined && unrecorded[value] === undefined)
    .filter(({ component, value }) => !sourceOf(rooms[component] ?? '').includes(`'${value}'`))
  assert.deepEqual(
    missing.map(({ component, value }) => `${component} ${value}`),
    [],
  )
  assert.deepEqual(
    Object.keys(unrecorded).filter((reason) => !facts.some(({ value }) => value === reason)),
    [],
    'exceptions for what upstream no longer has',
  )
})

test('every event that is told here is one that upstream tells of, with the same weight', () => {
  const known = new Set(facts.filter(({ record }) => record === 'event').map(({ value, status }) => `${value} ${status}`))
  // Reasons that upstream takes from variables, which the facts do not show.
  for (const each of ['CIDRNotAvailable Normal', 'TopologyAwareHintsEnabled Normal', 'TopologyAwareHintsDisabled Warning']) known.add(each)
  const recorded = new Map<string, string>()
  for (const file of globSync('src/controllers/*/*.ts', { cwd: root })) {
    // The service catalog, the sidecars of volumes, the vertical autoscaler and the descheduler are projects of their own: their events are not among these.
    if (
      file.endsWith('.test.ts') ||
      /\/(service-catalog|volume-driver|volume-snapshot|csi|vertical-pod-autoscaler|descheduler)\//.test(file)
    )
      continue
    const source = readFileSync(join(root, file), 'utf8')
    for (const [, weight, reason] of source.matchAll(/events\??\.(normal|warning)\(\s*[^,()]+,\s*[^,()]+,\s*'(\w+)'/g))
      recorded.set(`${reason} ${weight === 'normal' ? 'Normal' : 'Warning'}`, file)
    for (const [, weight, reason] of source.matchAll(/recordFor\([^)]*?'(Normal|Warning)',\s*'(\w+)'/g))
      recorded.set(`${reason} ${weight}`, file)
  }
  assert.ok(recorded.size > 25, `only ${recorded.size} were found`)
  assert.deepEqual(
    [...recorded].filter(([each]) => !known.has(each)),
    [],
  )
})

const template = (app: string, restartPolicy = 'Always') => ({
  metadata: { labels: { app } },
  spec: { restartPolicy, containers: [{ name: 'main', image: 'a:1' }] },
})

/** Something of everything, with troubles. */
async function lively(): Promise<FakeCluster> {
  const cluster = await FakeCluster.start({
    controllers: ['*', '-tokencleaner', '-root-ca-cert-publisher'],
    heartbeats: true,
    fateOf: ({ metadata }) =>
      metadata.labels?.['app'] === 'good'
        ? 'succeeds'
        : metadata.labels?.['app'] === 'bad'
          ? 'fails'
          : metadata.labels?.['app'] === 'stuck'
            ? 'hangs'
            : 'runs',
  })
  const place = (name: string) => ({ namespace: 'default', name })
  const selector = (app: string) => ({ matchLabels: { app } })
  for (const [app, spec] of [
    ['web', {}],
    ['stuck', { progressDeadlineSeconds: 60 }],
    ['paused', { paused: true }],
  ] as const)
    await cluster.create(Deployment, {
      metadata: place(app),
      spec: { replicas: 2, selector: selector(app), template: template(app), ...spec },
    })
  await cluster.create(StatefulSet, {
    metadata: place('db'),
    spec: { serviceName: 'db', selector: selector('db'), template: template('db') },
  })
  for (const app of ['good', 'bad'])
    await cluster.create(Job, { metadata: place(app), spec: { backoffLimit: 1, template: template(app, 'Never') } })
  await cluster.create(Job, { metadata: place('asleep'), spec: { suspend: true, template: template('good', 'Never') } })
  await cluster.create(Job, { metadata: place('late'), spec: { activeDeadlineSeconds: 30, template: template('slow', 'Never') } })
  await cluster.create(CronJob, {
    metadata: place('tick'),
    spec: { schedule: '*/1 * * * *', successfulJobsHistoryLimit: 1, jobTemplate: { spec: { template: template('good', 'Never') } } },
  })
  for (const name of ['one', 'two'])
    await cluster.create(PodDisruptionBudget, { metadata: place(name), spec: { minAvailable: 1, selector: selector('web') } })
  await cluster.create(PodDisruptionBudget, { metadata: place('none'), spec: { minAvailable: 1, selector: selector('nobody') } })
  await cluster.create(Namespace, { metadata: { name: 'leaving' }, spec: {} })
  await cluster.create(ConfigMap, { metadata: { namespace: 'leaving', name: 'held', finalizers: ['example.com/hold'] } })
  await cluster.advance({ seconds: 90 })
  await cluster.client.delete(Namespace, { name: 'leaving' })
  await cluster.change(Job, 'default', 'asleep', ({ spec }) => void Object.assign(spec ?? {}, { suspend: false }))
  await cluster.change(Deployment, 'default', 'paused', ({ spec }) => void Object.assign(spec ?? {}, { paused: false }))
  cluster.nodes.silence('node-1')
  await cluster.advance({ minutes: 8 })
  return cluster
}

type Conditioned = KubernetesObject & { status?: { conditions?: { type: string; status: string; reason?: string }[] } }

test('what a lively cluster shows in events and conditions is what upstream would show', async () => {
  await using cluster = await lively()
  const known = new Set(facts.filter(({ record }) => record === 'event').map(({ value, status }) => `${value} ${status}`))
  const seen = new Set((await cluster.list(Event)).map(({ reason, type }) => `${reason} ${type}`))
  assert.deepEqual(
    [...seen].filter((each) => !known.has(each)),
    [],
  )
  for (const each of [
    ...['ScalingReplicaSet Normal', 'SuccessfulCreate Normal', 'Completed Normal', 'BackoffLimitExceeded Warning', 'Suspended Normal'],
    ...['Resumed Normal', 'DeadlineExceeded Warning', 'SawCompletedJob Normal', 'NoPods Normal', 'MultiplePodDisruptionBudgets Warning'],
    ...['NodeNotReady Normal', 'NodeNotReady Warning', 'RegisteredNode Normal', 'TaintManagerEviction Normal', 'SuccessfulDelete Normal'],
  ])
    assert.ok(seen.has(each), `${each} was not told; there are ${[...seen].join(', ')}`)

  const kinds: [string, Kind][] = [
    ['apps/v1 Deployment', Deployment],
    ['apps/v1 ReplicaSet', ReplicaSet],
    ['batch/v1 Job', Job],
    ['policy/v1 PodDisruptionBudget', PodDisruptionBudget],
    ['core/v1 Namespace', Namespace],
    ['core/v1 Node', Node],
    ['core/v1 Pod', Pod],
  ]
  for (const [kind, definition] of kinds) {
    const rules = facts.filter(({ record, component }) => record === 'condition' && component === kind)
    for (const { status } of (await cluster.list(definition as never)) as Conditioned[]) {
      for (const condition of status?.conditions ?? []) {
        const rule = rules.find(({ type }) => type === condition.type)
        assert.ok(rule?.value.split('/').includes(condition.status), `${kind} has ${JSON.stringify(condition)}`)
        const reasons = (rule?.reasons.split(';')[0] ?? '').split(', ')
        const isFree =
          !condition.reason || reasons.includes('as Failed') || (kind === 'core/v1 Node' && condition.reason.startsWith('NodeStatus'))
        assert.ok(isFree || reasons.includes(condition.reason ?? ''), `${kind} has ${JSON.stringify(condition)}, not one of ${reasons}`)
      }
    }
  }
})
