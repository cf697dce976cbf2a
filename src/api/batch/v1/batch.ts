import { CronJob } from '#api/batch/v1/cron-job.ts'
import { Job } from '#api/batch/v1/job.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const batchV1: readonly ResourceDefinition[] = [CronJob, Job]
