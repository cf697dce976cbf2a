import { type CustomObjectOf, conditions, defineCustomResource, integer, list, object, optional, string, time } from '#index.ts'

/** A database with one primary that takes writes, replicas that follow it, and backups by the clock. */
export const Database = defineCustomResource({
  group: 'db.example.com',
  version: 'v1',
  kind: 'Database',
  shortNames: ['db'],
  spec: object({
    image: string({ default: 'postgres:17' }),
    members: integer({ minimum: 1, maximum: 9, default: 3 }),
    backup: optional(
      object({
        schedule: string({ description: 'When, as in a CronJob.' }),
        keep: integer({ minimum: 1, default: 3, description: 'How many backups are kept.' }),
      }),
    ),
    /** How long the primary may be gone before another takes its place. */
    failoverSeconds: integer({ minimum: 1, default: 10 }),
  }),
  status: object({
    primary: optional(string()),
    primaryLostAt: optional(time()),
    failovers: optional(integer()),
    readyMembers: optional(integer()),
    lastBackup: optional(time()),
    backups: optional(list(string())),
    conditions: conditions(),
  }),
  columns: [
    { name: 'Members', type: 'integer', jsonPath: '.spec.members' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyMembers' },
    { name: 'Primary', type: 'string', jsonPath: '.status.primary' },
    { name: 'Backup', type: 'date', jsonPath: '.status.lastBackup' },
  ],
})

export type Database = CustomObjectOf<typeof Database>
