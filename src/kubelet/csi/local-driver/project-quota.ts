/** Limits of directories that the file system itself keeps to, by project numbers (ext4 and xfs mounted with prjquota). */
import type { Processes } from '#base/processes.ts'
import type { StoredVolume } from '#kubelet/csi/local-driver/stored-volume.ts'

const firstProject = 1_048_577

/** Resolves with the directory's number, which is one that no other volume has. */
export async function limitProject(
  path: string,
  sizeBytes: number,
  others: readonly StoredVolume[],
  processes: Processes,
): Promise<number> {
  const own = others.length === 1 ? others[0]?.projectId : undefined
  const taken = new Set(others.map(({ projectId }) => projectId))
  let project = own ?? firstProject
  while (own === undefined && taken.has(project)) project++
  const fail = (what: string) => {
    throw new Error(
      `quota by project cannot be set for ${path}: ${what}; it needs a file system mounted with prjquota, and the programs chattr and setquota`,
    )
  }
  const run = async (program: string, args: string[]) => {
    const { exitCode, stderr } = await processes.run(program, args).catch((error: unknown) => ({ exitCode: 1, stderr: String(error) }))
    if (exitCode !== 0) fail(stderr.trim())
  }
  await run('chattr', ['+P', '-p', String(project), path])
  const { stdout } = await processes.run('findmnt', ['-n', '-o', 'TARGET', '--target', path])
  await run('setquota', ['-P', String(project), '0', String(Math.ceil(sizeBytes / 1024)), '0', '0', stdout.trim()])
  return project
}
