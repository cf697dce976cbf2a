/** `typernetes snapshot`: a cluster's store in one file, and back. */
import { addOptions, type Command, defineOptions, onOff, optionValues } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'

const dataDir = defineOptions({ dataDir: dataDirectoryOption })
const restoring = defineOptions({ ...dataDir, force: onOff('replace the store that is there', { default: false }) })

export function snapshotCommand(command: Command): void {
  const save = command.command('save <file>').description('save the store, whether or not the cluster runs')
  addOptions(save, dataDir)
  save.action(async (file: string) => (await load()).save(file, optionValues(save, dataDir)))
  const restore = command.command('restore <file>').description('make the store of a stopped cluster from a snapshot')
  addOptions(restore, restoring)
  restore.action(async (file: string) => (await load()).restore(file, optionValues(restore, restoring)))
  const status = command.command('status <file>').description('check a snapshot and say what it holds')
  status.action(async (file: string) => (await load()).status(file))
}

const load = () => import('#cmd/snapshot/snapshot.ts')
