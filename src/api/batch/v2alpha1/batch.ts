import { cronJobResource as cronJobV1 } from '#api/batch/v1/cron-job.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { writeTypes } from '#api/schema/written-types.ts'

const typeName = writeTypes({
  package: 'io.k8s.api.batch.v2alpha1',
  group: 'batch',
  version: 'v2alpha1',
  text: `
kind CronJob like batch.v1beta1
kind ScheduledJob like batch.v1beta1.CronJob
CronJobSpec,CronJobStatus,JobTemplateSpec like batch.v1beta1
`,
})

const cronJobResource = legacyVersion(cronJobV1, {
  version: 'v2alpha1',
  schema: typeName('CronJob'),
  deprecated: { deprecatedIn: '1.8', removedIn: '1.21' },
  defaultPropagation: 'Orphan',
})

/** What cron jobs were called at first. */
const scheduledJobResource = legacyVersion(cronJobV1, {
  version: 'v2alpha1',
  kind: 'ScheduledJob',
  plural: 'scheduledjobs',
  shortNames: [],
  categories: [],
  schema: typeName('ScheduledJob'),
  deprecated: { deprecatedIn: '1.5', removedIn: '1.8' },
  defaultPropagation: 'Orphan',
})

export const batchV2alpha1: readonly ResourceDefinition[] = [cronJobResource, scheduledJobResource]
