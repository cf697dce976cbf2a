import { containersColumn, imagesColumn, selectorColumn } from '#api/apps/v1/workload-columns.ts'
import { warningsForPodNames } from '#api/apps/v1/workload-template.ts'
import { parseCronSchedule } from '#api/batch/v1/cron-schedule.ts'
import { defaultJobTemplate, jobTemplateWarnings, validateJobTemplate } from '#api/batch/v1/job-spec.ts'
import { CronJob } from '#api/batch/v1/kinds.gen.ts'
import { timeZoneError } from '#api/batch/v1/time-zone.ts'
import type { V1CronJob, V1CronJobSpec, V1JobSpec, V1JobTemplateSpec } from '#api/batch/v1/types.gen.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { type PodValidationOptions, podValidationOptions } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { ageOf } from '#api/meta/human-duration.ts'
import { byteLength } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

/** Jobs get eleven characters more than their cron job has. */
const nameMaxBytes = 52

export const cronJobResource = defineResource(CronJob, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults(cronJob) {
    cronJob.spec ??= {} as V1CronJobSpec
    const { spec } = cronJob
    spec.jobTemplate ??= {} as V1JobTemplateSpec
    spec.jobTemplate.spec ??= {} as V1JobSpec
    defaultJobTemplate(spec.jobTemplate.spec)
    spec.concurrencyPolicy ||= 'Allow'
    spec.suspend ??= false
    spec.successfulJobsHistoryLimit ??= 3
    spec.failedJobsHistoryLimit ??= 1
  },

  prepareForCreate(cronJob, context) {
    dropDisabledFields(podTemplate(cronJob), undefined, context)
  },
  validate(cronJob, check, context) {
    validateSpec(check.at('spec'), undefined, podValidationOptions(podTemplate(cronJob), undefined, context))
    const { name = '' } = cronJob.metadata
    if (byteLength(name) > nameMaxBytes) check.at('metadata').at('name').or('').invalid(`must be no more than ${nameMaxBytes} characters`)
  },
  warningsOnCreate: ({ metadata, spec }) => [
    ...warningsForPodNames(metadata),
    ...jobTemplateWarnings(spec.jobTemplate.spec, undefined, 'spec.jobTemplate.spec'),
  ],

  generation: 'spec',
  prepareForUpdate(next, prev, context) {
    dropDisabledFields(podTemplate(next), podTemplate(prev), context)
  },
  validateUpdate: (next, prev, check, context) =>
    validateSpec(check.at('spec'), prev.spec, podValidationOptions(podTemplate(next), podTemplate(prev), context)),
  warningsOnUpdate(next, prev) {
    const changed = next.metadata.generation !== prev.metadata.generation
    const warnings = changed ? jobTemplateWarnings(next.spec.jobTemplate.spec, prev.spec.jobTemplate.spec, 'spec.jobTemplate.spec') : []
    if (next.spec.schedule.includes('TZ')) {
      warnings.push(
        'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
      )
    }
    return warnings
  },

  subresources: {
    status: { revalidatesMetadata: false },
  },

  columns: [
    nameColumn,
    { name: 'Schedule', type: 'string', description: { field: 'CronJobSpec.schedule' }, cell: ({ spec }) => spec.schedule },
    { name: 'Timezone', type: 'string', description: { field: 'CronJobSpec.timeZone' }, cell: ({ spec }) => spec.timeZone ?? '<none>' },
    { name: 'Suspend', type: 'boolean', description: { field: 'CronJobSpec.suspend' }, cell: ({ spec }) => suspendCell(spec) },
    { name: 'Active', type: 'integer', description: { field: 'CronJobStatus.active' }, cell: ({ status }) => status?.active?.length ?? 0 },
    {
      name: 'Last Schedule',
      type: 'string',
      description: { field: 'CronJobStatus.lastScheduleTime' },
      cell: ({ status }, { nowMs }) => (status?.lastScheduleTime ? ageOf(status.lastScheduleTime, nowMs) : '<none>'),
    },
    ageColumn,
    containersColumn((cronJob) => podTemplate(cronJob).spec),
    imagesColumn((cronJob) => podTemplate(cronJob).spec),
    selectorColumn('JobSpec.selector', ({ spec }) => spec.jobTemplate.spec.selector),
  ],
})

function podTemplate({ spec }: V1CronJob): V1PodTemplateSpec {
  return spec.jobTemplate.spec.template
}

function suspendCell({ suspend }: V1CronJobSpec): string {
  return suspend === undefined ? '<unset>' : suspend ? 'True' : 'False'
}

function validateSpec(check: Check<V1CronJobSpec>, prev: V1CronJobSpec | undefined, options: PodValidationOptions): void {
  const spec = check.value
  if (!spec.schedule) check.at('schedule').required()
  else validateSchedule(spec, prev?.schedule?.includes('TZ') ?? false, check.at('schedule'))
  nonNegative(check.at('startingDeadlineSeconds'))
  if (spec.timeZone !== undefined && spec.timeZone !== prev?.timeZone) validateTimeZone(check.at('timeZone').present)
  validateConcurrencyPolicy(check.at('concurrencyPolicy'))
  validateTemplate(spec.jobTemplate, check.at('jobTemplate').at('spec'), options)
  nonNegative(check.at('successfulJobsHistoryLimit'))
  nonNegative(check.at('failedJobsHistoryLimit'))
}

function validateSchedule({ schedule, timeZone }: V1CronJobSpec, hadZone: boolean, check: Check<unknown>): void {
  try {
    parseCronSchedule(schedule)
  } catch (error) {
    check.invalid((error as Error).message, schedule)
  }
  if (!schedule.includes('TZ')) return
  if (!hadZone) check.invalid('cannot use TZ or CRON_TZ in schedule, use timeZone field instead', schedule)
  else if (timeZone !== undefined) check.invalid('cannot use both timeZone field and TZ or CRON_TZ in schedule', schedule)
}

const zoneNamePart = /^[A-Za-z.\-_0-9+]{1,14}$/

function validateTimeZone(check: Check<string>): void {
  const timeZone = check.value
  if (timeZone === '') {
    check.invalid('timeZone must be nil or non-empty string')
    return
  }
  // Zones are files to upstream, and their names must not lead anywhere else.
  for (const part of timeZone.split('/')) {
    if (part === '.' || part === '..' || part.startsWith('-') || !zoneNamePart.test(part)) {
      check.invalid(`unknown time zone ${timeZone}`)
      return
    }
  }
  if (timeZone.toLowerCase() === 'local') {
    check.invalid('timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones')
  }
  const problem = timeZoneError(timeZone)
  if (problem !== undefined) check.invalid(problem)
}

function validateConcurrencyPolicy(check: Check<string | undefined>): void {
  const policy = check.value
  if (!policy) check.required()
  else if (policy !== 'Allow' && policy !== 'Forbid' && policy !== 'Replace') check.notSupported(['Allow', 'Forbid', 'Replace'])
}

/** `check` stands at the template's spec. */
function validateTemplate({ spec }: V1JobTemplateSpec, check: Check<V1JobSpec>, options: PodValidationOptions): void {
  validateJobTemplate(check.with(spec), options)
  if (spec.selector) check.at('selector').invalid('`selector` will be auto-generated', asInternal('meta.LabelSelector', spec.selector))
  if (spec.manualSelector) check.at('manualSelector').notSupported(['nil', 'false'], true)
}
