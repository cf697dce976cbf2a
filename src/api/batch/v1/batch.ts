import { cronJobResource } from '#api/batch/v1/cron-job.ts'
import { jobResource } from '#api/batch/v1/job.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const batchV1: readonly ResourceDefinition[] = [cronJobResource, jobResource]
