export type ProjectNames = {
  /** `backup-job` */
  name: string
  group: string
  /** `BackupJob` */
  kind: string
  /** `backupjob` */
  singular: string
}

/** Files by path, and what the project is in one sentence. */
export type Project = { summary: string; files: Readonly<Record<string, string>> }

/** A file of the project itself, as its code imports it. Not spelt out, since packing this program rewrites what looks like an import of its own. */
export const local = (file: string, from = '.'): string => `${from}/${file}.ts`

/** At the start of a line of a project's code, where checks would take the word itself for an export of this program. */
export const exported = 'export'
