import type { Processes } from '#base/processes.ts'

/** Shares blocks where the file system can; owners, modes, links and holes stay as they are. */
export async function copyData(from: string, to: string, processes: Processes): Promise<void> {
  // What a container has just written must be in the copy.
  await mustSucceed(processes, 'sync', ['-f', from])
  await mustSucceed(processes, 'cp', ['-a', '--reflink=auto', '--sparse=auto', '-T', from, to])
}

/** A file that takes room only for what is written to it; what is in `from` is at its beginning. Never made smaller. */
export async function makeSparseFile(path: string, sizeBytes: number, from: string | undefined, processes: Processes): Promise<void> {
  if (from !== undefined) await copyData(from, path, processes)
  await mustSucceed(processes, 'truncate', ['-s', `>${sizeBytes}`, path])
}

async function mustSucceed(processes: Processes, program: string, args: string[]): Promise<void> {
  const { exitCode, stderr } = await processes.run(program, args)
  if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr.trim()}`)
}
