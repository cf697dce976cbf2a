import { containersColumn, imagesColumn, selectorColumn } from '#api/apps/v1/workload-columns.ts'
import { mustSelectTemplate, selectorOf, warningsForPodNames } from '#api/apps/v1/workload-template.ts'
import { defaultJobTemplate, jobTemplateWarnings, validateJobTemplate } from '#api/batch/v1/job-spec.ts'
import { hasCondition, validateJobStatusUpdate } from '#api/batch/v1/job-status.ts'
import { validateJobUpdate } from '#api/batch/v1/job-update.ts'
import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job, V1JobSpec, V1JobStatus } from '#api/batch/v1/types.gen.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { type PodValidationOptions, podValidationOptions } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { humanDuration } from '#api/meta/human-duration.ts'
import { hasInvalidLabelValue, validateLabelSelector } from '#api/meta/labels.ts'
import { dns1123Label, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

const controllerUidLabel = 'batch.kubernetes.io/controller-uid'
const jobNameLabel = 'batch.kubernetes.io/job-name'
const oldControllerUidLabel = 'controller-uid'
const oldJobNameLabel = 'job-name'

export const jobResource = defineResource(Job, {
  allowUnconditionalUpdate: true,
  // Jobs came before garbage collection, and clients that know nothing of it rely on finding the pods afterwards.
  defaultPropagation: 'Orphan',
  unspecifiedPropagationWarning:
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',

  defaults(job) {
    job.spec ??= {} as V1JobSpec
    const { spec } = job
    defaultJobTemplate(spec)
    if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
    spec.parallelism ??= 1
    spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2147483647
    shareTemplateLabels(job)
    spec.completionMode ??= 'NonIndexed'
    spec.suspend ??= false
    spec.podReplacementPolicy ??= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed'
    spec.manualSelector ??= false
  },

  prepareForCreate(job, context) {
    if (!job.spec.manualSelector) generateSelector(job)
    dropDisabledFields(job.spec.template, undefined, context)
  },
  validate(job, check, context) {
    validateJob(check, { podOptions: podValidationOptions(job.spec.template, undefined, context), requirePrefixedLabels: true })
  },
  warningsOnCreate: ({ metadata, spec }) => [...warningsForPodNames(metadata), ...jobTemplateWarnings(spec, undefined, 'spec')],
  // The server has given labels to the template meanwhile, and they have been validated there.
  settle: shareTemplateLabels,

  generation: 'spec',
  revalidatesMetadata: false,
  prepareForUpdate(next, prev, context) {
    dropDisabledFields(next.spec.template, prev.spec.template, context)
  },
  validateUpdate(next, prev, check, context) {
    const prevLabels = prev.spec.template.metadata?.labels
    const podOptions = podValidationOptions(next.spec.template, prev.spec.template, context)
    const rules: JobRules = {
      podOptions,
      requirePrefixedLabels: prevLabels?.[jobNameLabel] !== undefined && prevLabels[controllerUidLabel] !== undefined,
      allowInvalidValues: podOptions.allowInvalidLabelValueInSelector || hasInvalidLabelValue(prev.spec.selector),
    }
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateJob(check, rules)
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    // Upstream validates the spec twice on updates, and reports it twice.
    validateSpec(check.at('spec'), rules)
    validateJobUpdate(next, prev, check.at('spec'), context)
  },
  warningsOnUpdate: (next, prev) =>
    next.metadata.generation === prev.metadata.generation ? [] : jobTemplateWarnings(next.spec, prev.spec, 'spec'),

  subresources: {
    status: {
      validateUpdate: (next, prev, check) => validateJobStatusUpdate(check.at('status').with(next), prev),
    },
  },

  fieldSelectors: { 'status.successful': ({ status }) => String(status?.succeeded ?? 0) },

  columns: [
    nameColumn,
    { name: 'Status', type: 'string', description: 'Status of the job.', cell: statusCell },
    { name: 'Completions', type: 'string', description: { field: 'JobStatus.succeeded' }, cell: completionsCell },
    {
      name: 'Duration',
      type: 'string',
      description: 'Time required to complete the job.',
      cell: ({ status }, { nowMs }) => durationCell(status, nowMs),
    },
    ageColumn,
    containersColumn(({ spec }) => spec.template.spec),
    imagesColumn(({ spec }) => spec.template.spec),
    selectorColumn('JobSpec.selector', ({ spec }) => spec.selector),
  ],
})

/** A job without labels has those of its pods: the very same ones, so that what the server adds to one shows in the other. */
function shareTemplateLabels({ metadata, spec }: V1Job): void {
  const labels = spec.template.metadata?.labels
  if (!labels) return
  for (const _key in metadata.labels) return
  metadata.labels = labels
}

function generateSelector({ metadata, spec }: V1Job): void {
  const { name = '', uid = '' } = metadata
  spec.template.metadata ??= {}
  spec.template.metadata.labels ??= {}
  const { labels } = spec.template.metadata
  labels[oldJobNameLabel] ??= name
  labels[jobNameLabel] ??= name
  labels[oldControllerUidLabel] ??= uid
  labels[controllerUidLabel] ??= uid
  spec.selector ??= {}
  spec.selector.matchLabels ??= {}
  spec.selector.matchLabels[controllerUidLabel] ??= uid
}

type JobRules = {
  podOptions: PodValidationOptions
  /** False for jobs of a time when the labels had no prefix. */
  requirePrefixedLabels: boolean
  allowInvalidValues?: boolean
}

function validateJob(check: Check<V1Job>, rules: JobRules): void {
  const job = check.value
  validateGeneratedSelector(check, rules.requirePrefixedLabels)
  validateSpec(check.at('spec'), rules)
  const { completionMode, completions = 0 } = job.spec
  if (completionMode === 'Indexed' && completions > 0) {
    const name = job.metadata.name ?? ''
    const longestHostname = `${name}-${completions - 1}`
    if (dns1123Label(longestHostname).length > 0) {
      check.at('metadata').at('name').or('').invalid(`will not able to create pod with invalid DNS label: ${longestHostname}`)
    }
  }
}

function validateSpec(check: Check<V1JobSpec>, { podOptions, allowInvalidValues = false }: JobRules): void {
  const spec = check.value
  validateJobTemplate(check, podOptions)
  if (!spec.selector) check.at('selector').required()
  else validateLabelSelector(check.at('selector'), { allowInvalidValues })
  const selector = selectorOf(spec.selector)
  if (selector) mustSelectTemplate(selector, check.at('template'))
}

function validateGeneratedSelector(check: Check<V1Job>, requirePrefixedLabels: boolean): void {
  const { metadata, spec } = check.value
  if (spec.manualSelector || !spec.selector) return
  const { name = '', uid = '' } = metadata
  if (uid === '') check.at('metadata').at('uid').required()
  const expected: Record<string, string> = { [oldControllerUidLabel]: uid, [oldJobNameLabel]: name }
  if (requirePrefixedLabels) {
    expected[controllerUidLabel] = uid
    expected[jobNameLabel] = name
  }
  const at = check.at('spec').at('template').at('metadata').at('labels')
  for (const key in expected) mustHaveLabel(at.or({}), key, expected[key] ?? '')
  if (selectorOf(spec.selector)?.matches(expected) === false) {
    check.at('spec').at('selector').invalid('`selector` not auto-generated', asInternal('meta.LabelSelector', spec.selector))
  }
}

function mustHaveLabel(check: Check<Readonly<Record<string, string>>>, key: string, expected: string): void {
  const labels = check.value
  const actual = labels[key]
  if (actual === undefined) check.key(key).required(`must be '${expected}'`)
  else if (actual !== expected) check.key(key).invalid(`must be '${expected}'`, asInternal('{s', labels))
}

function statusCell({ metadata, status }: V1Job): string {
  if (hasCondition(status, 'Complete')) return 'Complete'
  if (hasCondition(status, 'Failed')) return 'Failed'
  if (metadata.deletionTimestamp) return 'Terminating'
  if (hasCondition(status, 'Suspended')) return 'Suspended'
  if (hasCondition(status, 'FailureTarget')) return 'FailureTarget'
  return hasCondition(status, 'SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running'
}

function completionsCell({ spec: { completions, parallelism = 0 }, status }: V1Job): string {
  const succeeded = status?.succeeded ?? 0
  if (completions !== undefined) return `${succeeded}/${completions}`
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function durationCell(status: V1JobStatus | undefined, nowMs: number): string {
  if (!status?.startTime) return ''
  return humanDuration((status.completionTime ? Date.parse(status.completionTime) : nowMs) - Date.parse(status.startTime))
}
