/** A kustomization may only read files of its own directory and those below: it may come from others, who must not get at the user's files. */
import { join, sep } from 'node:path'
import { CliError } from '#cli/cli-error.ts'
import type { Host } from '#cli/host.ts'

/** The same host, whose files outside of the directory cannot be read. Links are followed first. */
export async function restrictedTo(host: Host, directory: string): Promise<Host> {
  const { files } = host
  const root = (await files.realPath(directory)) ?? directory
  const check = async (path: string): Promise<void> => {
    const real = (await files.realPath(path)) ?? path
    if (!real.startsWith(join(root, sep))) throw new CliError(`security; file '${real}' is not in or below '${root}'`)
  }
  return {
    ...host,
    files: {
      ...files,
      read: async (path) => {
        await check(path)
        return files.read(path)
      },
      readText: async (path) => {
        await check(path)
        return files.readText(path)
      },
      readTextIfPresent: async (path) => {
        await check(path)
        return files.readTextIfPresent(path)
      },
    },
  }
}
