import { defaultFromTemplateLabels } from '#api/apps/v1beta1/template-labels.ts'
import { jobResource as jobV1 } from '#api/batch/v1/job.ts'
import type { V1Job } from '#api/batch/v1/types.gen.ts'
import { typeName, type V1beta1Job } from '#api/extensions/v1beta1/older-types.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

export const jobResource = legacyVersion<V1beta1Job, V1Job>(jobV1, {
  group: 'extensions',
  version: 'v1beta1',
  schema: typeName('Job'),
  categories: [],
  deprecated: { deprecatedIn: '1.2', removedIn: '1.6' },

  defaults(job) {
    const { spec } = job
    const asksForSelector = spec?.autoSelector === true && spec.selector === undefined
    defaultFromTemplateLabels(job)
    if (asksForSelector) delete spec.selector
  },
  toStored(job) {
    const { autoSelector, ...spec } = job.spec ?? {}
    return { ...job, spec: autoSelector === true ? spec : { ...spec, manualSelector: true } } as V1Job
  },
  fromStored(job) {
    const { manualSelector, ...spec } = job.spec
    return { ...job, spec: manualSelector === true ? spec : { ...spec, autoSelector: true } } as V1beta1Job
  },
})
