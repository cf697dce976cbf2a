import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CronJob, Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1CronJob, V1CronJobSpec } from '#api/batch/v1/types.gen.ts'
import { Event } from '#api/core/v1/kinds.gen.ts'
import { defined } from '#base/defined.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const controllers = ['cronjob', 'job', 'garbagecollector']

const aCronJob = (spec: Partial<V1CronJobSpec> = {}): V1CronJob => ({
  metadata: { namespace: 'default', name: 'tick' },
  spec: {
    schedule: '*/5 * * * *',
    jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'a' }] } } } },
    ...spec,
  },
})

const names = async (cluster: FakeCluster) => (await cluster.list(Job, 'default')).map(({ metadata }) => metadata.name)
const minutes = (text: string) => Date.parse(text) / 60_000

test('a job is made at each time of the schedule, named after it, and old ones are forgotten', async () => {
  await using cluster = await FakeCluster.start({ controllers, fateOf: () => 'succeeds' })
  await cluster.create(CronJob, aCronJob())
  await cluster.advance({ minutes: 4 })
  assert.deepEqual(await names(cluster), [])
  await cluster.advance({ minutes: 2 })
  assert.deepEqual(await names(cluster), [`tick-${minutes('2026-01-01T00:05:00Z')}`])
  await cluster.advance({ minutes: 20 })
  // Three successful ones are kept unless said otherwise.
  assert.deepEqual(
    await names(cluster),
    ['15', '20', '25'].map((minute) => `tick-${minutes(`2026-01-01T00:${minute}:00Z`)}`),
  )
  const { status } = await cluster.get(CronJob, 'default', 'tick')
  assert.deepEqual([status?.lastScheduleTime, status?.active ?? []], ['2026-01-01T00:25:00Z', []])
  assert.ok(status?.lastSuccessfulTime)
  const reasons = new Set(
    (await cluster.list(Event, 'default')).filter(({ involvedObject }) => involvedObject.kind === 'CronJob').map(({ reason }) => reason),
  )
  assert.deepEqual([...reasons].sort(), ['SawCompletedJob', 'SuccessfulCreate', 'SuccessfulDelete'])
})

const policies: [policy: string, jobsAfter: number][] = [
  ['Allow', 3],
  ['Forbid', 1],
  ['Replace', 1],
]
for (const [concurrencyPolicy, count] of policies) {
  test(`${concurrencyPolicy}: ${count} of three jobs that do not end are there`, async () => {
    await using cluster = await FakeCluster.start({ controllers, fateOf: () => 'runs' })
    await cluster.create(CronJob, aCronJob({ concurrencyPolicy }))
    await cluster.advance({ minutes: 16 })
    const jobs = await cluster.list(Job, 'default')
    assert.equal(jobs.length, count)
    if (concurrencyPolicy === 'Replace') assert.equal(jobs[0]?.metadata.name, `tick-${minutes('2026-01-01T00:15:00Z')}`)
    assert.equal((await cluster.get(CronJob, 'default', 'tick')).status?.active?.length, count)
  })
}

test('of the runs missed while no controller ran, the last one is made up for; with a deadline that has passed, none', async () => {
  for (const [startingDeadlineSeconds, expected] of [[undefined, 1] as const, [30, 0] as const]) {
    await using cluster = await FakeCluster.start({ controllers, fateOf: () => 'succeeds' })
    await cluster.create(CronJob, aCronJob({ schedule: '0 * * * *', ...defined({ startingDeadlineSeconds }) }))
    await cluster.stopControllers()
    await cluster.advance({ hours: 5, minutes: 30 })
    await cluster.startControllers()
    await cluster.advance({ minutes: 5 })
    assert.equal((await names(cluster)).length, expected)
    if (expected === 1) assert.deepEqual(await names(cluster), [`tick-${minutes('2026-01-01T05:00:00Z')}`])
  }
})

test('a time zone moves the schedule, and the job says when it was meant', async () => {
  await using cluster = await FakeCluster.start({ controllers, fateOf: () => 'succeeds' })
  await cluster.create(CronJob, aCronJob({ schedule: '30 9 * * *', timeZone: 'Asia/Tokyo' }))
  await cluster.advance({ minutes: 40 })
  const [job] = await cluster.list(Job, 'default')
  assert.equal(job?.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'], '2026-01-01T09:30:00+09:00')
})
