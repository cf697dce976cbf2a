import type { MountTools } from '#kubelet/volumes/mountable/mount-plugin.ts'

/** Rejects where the machine lacks the program that its kernel needs for this kind of volume. */
export async function mountHelper(program: string, debianPackage: string, tools: Pick<MountTools, 'processes'>): Promise<void> {
  if (!(await hasMountHelper(program, tools)))
    throw new Error(`this node has no program ${program}, which this kind of volume needs; it is in the package ${debianPackage}`)
}

export async function hasMountHelper(program: string, { processes }: Pick<MountTools, 'processes'>): Promise<boolean> {
  const { exitCode } = await processes.run('sh', ['-c', `PATH="$PATH:/sbin:/usr/sbin" command -v ${program}`])
  return exitCode === 0
}
