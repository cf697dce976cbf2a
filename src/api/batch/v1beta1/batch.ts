import { cronJobResource } from '#api/batch/v1/cron-job.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const batchV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(cronJobResource, {
    version: 'v1beta1',
    deprecated: { deprecatedIn: '1.21', removedIn: '1.25' },
    defaultPropagation: 'Orphan',
  }),
]
