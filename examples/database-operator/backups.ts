/** Backups: a CronJob takes them, the operator tells of them and keeps the last few. */
import { type Applied, type batchV1, CronJob, Job, type OwnedObjects, type ReconcileContext } from '#index.ts'
import type { Database } from './database.ts'
import { databaseLabel } from './members.ts'

export const backupName = (database: Database): string => `${database.metadata.name}-backup`

export async function keepBackupSchedule(database: Database, owned: OwnedObjects): Promise<void> {
  if (database.spec.backup === undefined) await owned.keepOnly(CronJob, [])
  else await owned.apply(CronJob, backupCronJob(database, database.spec.backup))
}

function backupCronJob(database: Database, { schedule, keep }: NonNullable<Database['spec']['backup']>): Applied<batchV1.V1CronJob> {
  const { name = '' } = database.metadata
  const annotations = { 'sim.typernetes.dev/exit-after': '20s' }
  const host = `${name}-primary`
  const container = { name: 'backup', image: database.spec.image, command: ['pg_basebackup', '--host', host, '--pgdata', '/backup'] }
  return {
    metadata: { name: backupName(database) },
    spec: {
      schedule,
      concurrencyPolicy: 'Forbid',
      successfulJobsHistoryLimit: keep,
      jobTemplate: {
        metadata: { labels: { [databaseLabel]: name } },
        spec: { backoffLimit: 2, template: { metadata: { annotations }, spec: { restartPolicy: 'Never', containers: [container] } } },
      },
    },
  }
}

/** The backups there are, the latest first, and when that one was done. */
export function backupsOf(database: Database, cache: ReconcileContext['cache']): { names: string[]; last: string | undefined } {
  const done = cache
    .list(Job, database.metadata.namespace)
    .filter(({ metadata, status }) => metadata.labels?.[databaseLabel] === database.metadata.name && (status?.succeeded ?? 0) > 0)
    .map(({ metadata, status }) => ({ name: metadata.name ?? '', at: status?.completionTime ?? '' }))
    .sort((left, right) => (left.at < right.at ? 1 : -1))
  return { names: done.map(({ name }) => name), last: done[0]?.at }
}
