import type { Processes } from '#base/processes.ts'

/** Shares blocks where the file system can; owners, modes, links and holes stay as they are. Files that are disks are held still meanwhile. */
export async function copyData(from: string, to: string, processes: Processes): Promise<void> {
  const mounted = await mountOfDisk(from, processes)
  // What is still in memory must be in the copy, and nothing may change while it is made.
  const isFrozen = mounted !== undefined && (await processes.run('fsfreeze', ['--freeze', mounted])).exitCode === 0
  if (mounted !== undefined && !isFrozen) await mustSucceed(processes, 'sync', ['-f', mounted])
  try {
    await mustSucceed(processes, 'cp', ['-a', '--reflink=auto', '--sparse=auto', '-T', from, to])
  } finally {
    if (isFrozen && mounted !== undefined) await processes.run('fsfreeze', ['--unfreeze', mounted])
  }
}

/** A file that takes room only for what is written to it; what is in `from` is at its beginning. Never made smaller. */
export async function makeSparseFile(path: string, sizeBytes: number, from: string | undefined, processes: Processes): Promise<void> {
  if (from !== undefined) await copyData(from, path, processes)
  await mustSucceed(processes, 'truncate', ['-s', `>${sizeBytes}`, path])
}

/** Where the file system on a file is mounted; undefined for directories, and for what is not mounted. */
async function mountOfDisk(path: string, processes: Processes): Promise<string | undefined> {
  const { stdout } = await processes.run('losetup', ['--associated', path, '--output', 'NAME', '--noheadings'])
  const device = stdout.trim().split('\n')[0]?.trim() ?? ''
  if (device === '') return undefined
  const { stdout: target } = await processes.run('findmnt', ['--noheadings', '--first-only', '--output', 'TARGET', '--source', device])
  return target.trimEnd() || undefined
}

async function mustSucceed(processes: Processes, program: string, args: string[]): Promise<void> {
  const { exitCode, stderr } = await processes.run(program, args)
  if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr.trim()}`)
}
