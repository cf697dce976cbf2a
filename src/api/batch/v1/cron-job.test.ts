import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cronJobResource } from '#api/batch/v1/cron-job.ts'
import type { V1CronJob, V1CronJobSpec, V1JobSpec } from '#api/batch/v1/types.gen.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '1', generation: 1 }
const jobSpec: V1JobSpec = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox' }] } } }
const cronJob = (spec: Partial<V1CronJobSpec> = {}): V1CronJob => ({
  metadata,
  spec: { schedule: '*/5 * * * *', jobTemplate: { spec: jobSpec }, ...spec },
})

test('cron jobs are validated in the words clients know', () => {
  const cases: [string, Partial<V1CronJobSpec>, string[]][] = [
    ['the smallest one', {}, []],
    ['a name for a schedule', { schedule: '@daily', timeZone: 'Europe/Berlin' }, []],
    ['no schedule', { schedule: '' }, ['spec.schedule: Required value']],
    [
      'no such minute',
      { schedule: '60 * * * *' },
      ['spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60'],
    ],
    [
      'a zone in the schedule',
      { schedule: 'TZ=UTC 0 0 * * *' },
      ['spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead'],
    ],
    ['no zone', { timeZone: '' }, ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']],
    ['no such zone', { timeZone: 'Nope' }, ['spec.timeZone: Invalid value: "Nope": unknown time zone Nope']],
    [
      'a zone of another case',
      { timeZone: 'europe/berlin' },
      ['spec.timeZone: Invalid value: "europe/berlin": unknown time zone europe/berlin'],
    ],
    ['a way out', { timeZone: '../x' }, ['spec.timeZone: Invalid value: "../x": unknown time zone ../x']],
    [
      'wherever the server is',
      { timeZone: 'Local' },
      ['spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'],
    ],
    [
      'an unknown policy',
      { concurrencyPolicy: 'Nope' },
      ['spec.concurrencyPolicy: Unsupported value: "Nope": supported values: "Allow", "Forbid", "Replace"'],
    ],
    [
      'a selector of its own',
      { jobTemplate: { spec: { ...jobSpec, selector: { matchLabels: { a: 'b' } }, manualSelector: true } } },
      [
        'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
        'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
      ],
    ],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(cronJobResource, cronJob(spec)).errors, errors, name)
})

test('the name of a cron job leaves room for those of its jobs', () => {
  const named = (length: number) => tryCreate(cronJobResource, { ...cronJob(), metadata: { ...metadata, name: 'a'.repeat(length) } }).errors
  assert.deepEqual(named(52), [])
  assert.deepEqual(named(53), [`metadata.name: Invalid value: "${'a'.repeat(53)}": must be no more than 52 characters`])
})

test('a zone that a schedule has may stay, and is warned of', () => {
  const schedule = 'TZ=UTC 0 0 * * *'
  const prev = tryCreate(cronJobResource, cronJob({ schedule })).object
  const { errors, warnings } = tryUpdate(cronJobResource, prev, cronJob({ schedule, suspend: true }))
  assert.deepEqual(errors, [])
  assert.deepEqual(warnings, [
    'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
  ])
  assert.deepEqual(tryUpdate(cronJobResource, prev, cronJob({ schedule, timeZone: 'Etc/UTC' })).errors, [
    `spec.schedule: Invalid value: "${schedule}": cannot use both timeZone field and TZ or CRON_TZ in schedule`,
  ])
})
