import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { componentNames } from '#cmd/component-names.ts'

/** The program that acts by the name that it is called by. */
export const program = fileURLToPath(import.meta.resolve('../../../bin/typernetes.js'))

/** Makes the links, or removes those that lead here. What is somebody else's stays unless `force` says otherwise. */
export async function link(directory: string, { force, remove }: { force: boolean; remove: boolean }): Promise<void> {
  const found = await Promise.all(
    componentNames.map(async (name) => ({ path: join(directory, name), what: await whatIs(join(directory, name)) })),
  )
  if (remove) {
    for (const { path, what } of found) if (what === 'ours') await nodeFiles.removeOne(path)
    return
  }
  const other = found.find(({ what }) => what === 'other')
  if (other !== undefined && !force) throw new Error(`${other.path} is there already; --force replaces it`)
  await nodeFiles.makeDirectory(directory, { mode: 0o755 })
  for (const { path, what } of found) {
    if (what === 'other') await nodeFiles.removeOne(path)
    if (what !== 'ours') await nodeFiles.symlink(program, path)
    thisProcess.print(path)
  }
}

async function whatIs(path: string): Promise<'nothing' | 'ours' | 'other'> {
  const stat = await nodeFiles.stat(path)
  if (stat === undefined) return 'nothing'
  return stat.kind === 'symlink' && (await nodeFiles.readLink(path)) === program ? 'ours' : 'other'
}
