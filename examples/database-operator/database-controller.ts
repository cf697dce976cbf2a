import {
  CronJob,
  defineController,
  formatTime,
  Job,
  on,
  ownedObjects,
  Pod,
  parseTime,
  type ReconcileContext,
  Service,
  setCondition,
  withFinalizer,
  writeStatus,
} from '#index.ts'
import { backupsOf, keepBackupSchedule } from './backups.ts'
import { Database } from './database.ts'
import { databaseLabel, isReady, memberName, memberNames, memberPod, roleLabel, successor } from './members.ts'

/** Keeps the members, chooses the primary, leads clients to it, and sees to backups. */
export const databaseController = defineController({
  name: 'database-operator',
  for: Database,
  owns: [Pod, Service, CronJob],
  watches: [
    on(Job, ({ metadata }) => {
      const name = metadata.labels?.[databaseLabel]
      return name === undefined ? [] : [`${metadata.namespace}/${name}`]
    }),
  ],
  reconcile: withFinalizer({ for: Database, name: 'db.example.com/final-backup', cleanup: finalBackup, reconcile }),
})

async function reconcile(database: Database, context: ReconcileContext): Promise<void> {
  const { client, cache, clock, events } = context
  const owned = ownedObjects({ owner: database, kind: Database, context })
  const pods = owned.list(Pod)
  const next = nextPrimary(database, context)
  for (const name of memberNames(database)) {
    const present = pods.find(({ metadata }) => metadata.name === name)
    // A pod that is on its way out is made anew when it is gone. What runs changes in its role alone.
    if (present?.metadata.deletionTimestamp !== undefined) continue
    const role = name === next.primary ? 'primary' : 'replica'
    if (present === undefined || present.metadata.labels?.[roleLabel] !== role) await owned.apply(Pod, memberPod(database, name, role))
  }
  await owned.keepOnly(Pod, memberNames(database))
  await owned.apply(Service, {
    metadata: { name: `${database.metadata.name}-primary` },
    spec: {
      selector: { [databaseLabel]: database.metadata.name ?? '', [roleLabel]: 'primary' },
      ports: [{ name: 'sql', port: 5432 }],
    },
  })
  await keepBackupSchedule(database, owned)
  const { primary: was, failovers = 0, primaryLostAt: _, ...before } = database.status ?? {}
  const hasFailedOver = was !== undefined && next.primary !== was
  const readyMembers = pods.filter(isReady).length
  const isPrimaryReady = pods.some((pod) => pod.metadata.name === next.primary && isReady(pod))
  const condition = { type: 'Available', status: isPrimaryReady ? 'True' : 'False', reason: isPrimaryReady ? 'PrimaryReady' : 'NoPrimary' }
  const { names, last } = backupsOf(database, cache)
  await writeStatus(client, Database, database, {
    ...before,
    readyMembers,
    failovers: failovers + (hasFailedOver ? 1 : 0),
    ...(next.primary === undefined ? {} : { primary: next.primary }),
    ...(next.lostAt === undefined ? {} : { primaryLostAt: next.lostAt }),
    ...(names.length > 0 ? { backups: names } : {}),
    ...(last === undefined ? {} : { lastBackup: last }),
    conditions: setCondition(database.status?.conditions, condition, clock),
  })
  if (hasFailedOver) events.warning(Database, database, 'Failover', `${next.primary} takes over from ${was}`)
}

/** The primary stays as long as it is ready, or was a moment ago; then the ready member takes over that has been so longest. */
function nextPrimary(database: Database, { clock, cache, requeueAfter }: ReconcileContext): { primary?: string; lostAt?: string } {
  const pods = cache.controlledBy(Pod, database)
  const { primary = memberName(database, 0), primaryLostAt } = database.status ?? {}
  const isMember = memberNames(database).includes(primary)
  if (isMember && (database.status?.primary === undefined || pods.some((pod) => pod.metadata.name === primary && isReady(pod))))
    return { primary }
  const lostAt = primaryLostAt ?? formatTime(clock.now())
  const leftMs = parseTime(lostAt) + database.spec.failoverSeconds * 1000 - clock.now()
  if (isMember && leftMs > 0) {
    requeueAfter(leftMs)
    return { primary, lostAt }
  }
  const heir = successor(pods.filter(({ metadata }) => metadata.name !== primary && memberNames(database).includes(metadata.name ?? '')))
  return heir === undefined ? { primary, lostAt } : { primary: heir }
}

/** Before a database goes, one more backup is taken, which outlives it. */
async function finalBackup(database: Database, { client, cache, events }: ReconcileContext): Promise<'pending' | undefined> {
  const { namespace = '', name = '' } = database.metadata
  if (database.spec.backup === undefined) return undefined
  const jobName = `${name}-final-backup`
  const job = cache.get(Job, namespace, jobName)
  if (job === undefined) {
    const container = { name: 'backup', image: database.spec.image, command: ['pg_basebackup', '--host', `${name}-primary`] }
    const template = {
      metadata: { annotations: { 'sim.typernetes.dev/exit-after': '20s' } },
      spec: { restartPolicy: 'Never', containers: [container] },
    }
    await client.create(Job, { metadata: { namespace, name: jobName, labels: { [databaseLabel]: name } }, spec: { template } })
    events.normal(Database, database, 'FinalBackup', 'Taking a last backup')
  }
  return (job?.status?.succeeded ?? 0) > 0 ? undefined : 'pending'
}
