import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job, V1JobSpec } from '#api/batch/v1/types.gen.ts'
import { Event, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { FakeClusterOptions } from '#testing/fake-cluster.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import type { Fate } from '#testing/fake-nodes.ts'

const controllers = ['job', 'garbagecollector', 'ttl-after-finished']

const aJob = (spec: Partial<V1JobSpec> = {}): V1Job => ({
  metadata: { namespace: 'default', name: 'work' },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] } }, ...spec },
})

const indexOf = ({ metadata }: V1Pod) => Number(metadata.annotations?.['batch.kubernetes.io/job-completion-index'])

type Scenario = {
  name: string
  spec: Partial<V1JobSpec>
  fateOf: (pod: V1Pod) => Fate
  exitCode?: number
  afterSeconds: number
  /** Type and reason of the condition that ends it. */
  ends: [string, string] | undefined
  succeeded?: number
  failed?: number
  completedIndexes?: string
  failedIndexes?: string
  pods?: number
}

const firstFails = () => {
  let made = 0
  return () => (made++ === 0 ? 'fails' : 'succeeds') as Fate
}
const remembered = (choose: () => Fate) => {
  const fates = new Map<string, Fate>()
  return ({ metadata }: V1Pod) => {
    const uid = metadata.uid ?? ''
    const fate = fates.get(uid) ?? choose()
    fates.set(uid, fate)
    return fate
  }
}

const scenarios: Scenario[] = [
  {
    name: 'one pod that succeeds',
    spec: {},
    fateOf: () => 'succeeds',
    afterSeconds: 10,
    ends: ['Complete', 'CompletionsReached'],
    succeeded: 1,
  },
  {
    name: 'five completions, two at a time',
    spec: { completions: 5, parallelism: 2 },
    fateOf: () => 'succeeds',
    afterSeconds: 30,
    ends: ['Complete', 'CompletionsReached'],
    succeeded: 5,
    pods: 5,
  },
  {
    name: 'a failure is made up for after ten seconds',
    spec: {},
    fateOf: remembered(firstFails()),
    afterSeconds: 30,
    ends: ['Complete', 'CompletionsReached'],
    succeeded: 1,
    failed: 1,
  },
  {
    name: 'too many failures end the job',
    spec: { backoffLimit: 2 },
    fateOf: () => 'fails',
    afterSeconds: 120,
    ends: ['Failed', 'BackoffLimitExceeded'],
    failed: 3,
  },
  {
    name: 'a deadline ends the job',
    spec: { activeDeadlineSeconds: 20 },
    fateOf: () => 'runs',
    afterSeconds: 60,
    ends: ['Failed', 'DeadlineExceeded'],
    failed: 1,
  },
  {
    name: 'every index succeeds once',
    spec: { completions: 6, parallelism: 4, completionMode: 'Indexed' },
    fateOf: () => 'succeeds',
    afterSeconds: 30,
    ends: ['Complete', 'CompletionsReached'],
    succeeded: 6,
    completedIndexes: '0-5',
    pods: 6,
  },
  {
    name: 'an index that fails too often fails alone, and the job in the end',
    spec: { completions: 3, parallelism: 3, completionMode: 'Indexed', backoffLimitPerIndex: 1, backoffLimit: 100 },
    fateOf: (pod) => (indexOf(pod) === 1 ? 'fails' : 'succeeds'),
    afterSeconds: 60,
    ends: ['Failed', 'FailedIndexes'],
    succeeded: 2,
    failed: 2,
    completedIndexes: '0,2',
    failedIndexes: '1',
  },
  {
    name: 'a success policy ends the job early',
    spec: { completions: 5, parallelism: 5, completionMode: 'Indexed', successPolicy: { rules: [{ succeededIndexes: '2-3' }] } },
    fateOf: (pod) => ([2, 3].includes(indexOf(pod)) ? 'succeeds' : 'runs'),
    afterSeconds: 30,
    ends: ['Complete', 'SuccessPolicy'],
    succeeded: 2,
    completedIndexes: '2,3',
  },
  {
    name: 'a failure policy fails the job at once',
    spec: { backoffLimit: 6, podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } }] } },
    fateOf: () => 'fails',
    exitCode: 42,
    afterSeconds: 30,
    ends: ['Failed', 'PodFailurePolicy'],
    failed: 1,
  },
  {
    name: 'a failure policy ignores failures',
    spec: { backoffLimit: 0, podFailurePolicy: { rules: [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [42] } }] } },
    fateOf: remembered(firstFails()),
    exitCode: 42,
    afterSeconds: 60,
    ends: ['Complete', 'CompletionsReached'],
    succeeded: 1,
  },
  {
    name: 'another controller manages it',
    spec: { managedBy: 'example.com/queue' },
    fateOf: () => 'runs',
    afterSeconds: 10,
    ends: undefined,
    pods: 0,
  },
]

for (const { name, spec, fateOf, afterSeconds, ends, pods, exitCode, ...counts } of scenarios) {
  test(`job: ${name}`, async () => {
    const options: FakeClusterOptions = { controllers, fateOf, ...defined({ exitCode }) }
    await using cluster = await FakeCluster.start(options)
    await cluster.create(Job, aJob(spec))
    await cluster.advance({ seconds: afterSeconds })
    const { status = {} } = await cluster.get(Job, 'default', 'work')
    const final = status.conditions?.find(({ type }) => type === 'Complete' || type === 'Failed')
    assert.deepEqual(final && [final.type, final.reason], ends, JSON.stringify(status))
    for (const [field, value] of Object.entries(counts))
      assert.equal(status[field as keyof typeof status], value, `${field} of ${JSON.stringify(status)}`)
    assert.equal(status.active ?? 0, 0)
    assert.deepEqual(status.uncountedTerminatedPods ?? {}, {})
    const left = await cluster.list(Pod, 'default')
    if (pods !== undefined) assert.equal(left.length, pods)
    assert.ok(
      left.every(({ metadata }) => !metadata.finalizers?.length),
      'a pod kept its finalizer',
    )
    if (ends?.[0] === 'Complete') {
      assert.ok((await cluster.list(Event, 'default')).some(({ reason, message }) => reason === 'Completed' && message === 'Job completed'))
      assert.ok(status.completionTime)
    }
  })
}

test('a pod that finishes while no controller runs is counted once, even when it was deleted meanwhile', async () => {
  await using cluster = await FakeCluster.start({ controllers, fateOf: () => 'succeeds', workMs: 5000 })
  await cluster.create(Job, aJob({ completions: 2, parallelism: 2 }))
  await cluster.advance({ seconds: 3 })
  await cluster.stopControllers()
  await cluster.advance({ seconds: 20 })
  const pods = await cluster.list(Pod, 'default')
  assert.deepEqual(
    pods.map(({ status }) => status?.phase),
    ['Succeeded', 'Succeeded'],
  )
  await cluster.client.delete(Pod, pods[0]?.metadata ?? {})
  await cluster.advance({ seconds: 5 })
  assert.equal((await cluster.list(Pod, 'default')).length, 2, 'the finalizer did not hold the pod')
  await cluster.startControllers()
  await cluster.advance({ seconds: 10 })
  const { status } = await cluster.get(Job, 'default', 'work')
  assert.deepEqual([status?.succeeded, status?.failed ?? 0, status?.active ?? 0], [2, 0, 0])
  assert.ok(status?.conditions?.some(({ type }) => type === 'Complete'))
})

test('a suspended job has no pods, and starts when it is resumed', async () => {
  await using cluster = await FakeCluster.start({ controllers, fateOf: () => 'runs' })
  await cluster.create(Job, aJob({ suspend: true }))
  await cluster.advance({ seconds: 5 })
  assert.equal((await cluster.list(Pod, 'default')).length, 0)
  const suspend = (value: boolean) =>
    cluster.change(Job, 'default', 'work', ({ spec }) => void (spec && Object.assign(spec, { suspend: value })))
  await suspend(false)
  await cluster.advance({ seconds: 5 })
  assert.equal((await cluster.get(Job, 'default', 'work')).status?.active, 1)
  await suspend(true)
  await cluster.advance({ seconds: 10 })
  const { status } = await cluster.get(Job, 'default', 'work')
  assert.deepEqual([status?.active ?? 0, status?.failed ?? 0, (await cluster.list(Pod, 'default')).length], [0, 0, 0])
  assert.deepEqual(
    status?.conditions?.map(({ type, status, reason }) => [type, status, reason]),
    [['Suspended', 'True', 'JobSuspended']],
  )
})

test('a finished job goes with its pods when its time is up', async () => {
  await using cluster = await FakeCluster.start({ controllers, fateOf: () => 'succeeds' })
  await cluster.create(Job, aJob({ ttlSecondsAfterFinished: 30 }))
  await cluster.advance({ seconds: 20 })
  assert.ok(await cluster.find(Job, 'default', 'work'))
  await cluster.advance({ seconds: 40 })
  assert.equal(await cluster.find(Job, 'default', 'work'), undefined)
  assert.deepEqual(await cluster.list(Pod, 'default'), [])
})
