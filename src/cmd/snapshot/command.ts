/** `typernetes snapshot`: a cluster's store in one file, and back. */
import { addOptions, type Command, defineOptions, onOff, optionValues, text } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'
import { upOptions } from '#cmd/up/options.ts'

const { listen, etcdCafile, etcdCertfile, etcdKeyfile } = upOptions
const store = text('which store: sqlite or etcd (in --data-dir), or etcd://HOST:PORT,…', {
  placeholder: 'STORE',
  default: '',
  defaultText: 'the one that is in --data-dir, or sqlite',
})
const place = defineOptions({ dataDir: dataDirectoryOption, store, ...{ etcdCafile, etcdCertfile, etcdKeyfile } })
export const restoreOptions = defineOptions({
  ...place,
  listen: { ...listen, help: 'with --store etcd: by which address of this machine other members of its etcd will reach it' },
  force: onOff('replace the store that is there (sqlite)', { default: false }),
})
export type SnapshotPlace = { dataDir: string; store: string; etcdCafile: string; etcdCertfile: string; etcdKeyfile: string }

export function snapshotCommand(command: Command): void {
  const save = command.command('save <file>').description('save the store, whether or not the cluster runs')
  addOptions(save, place)
  save.action(async (file: string) => (await load()).save(file, optionValues(save, place)))
  const restore = command.command('restore <file>').description('make the store of a stopped cluster from a snapshot')
  addOptions(restore, restoreOptions)
  restore.action(async (file: string) => (await load()).restore(file, optionValues(restore, restoreOptions)))
  const status = command.command('status <file>').description('check a snapshot and say what it holds')
  status.action(async (file: string) => (await load()).status(file))
}

const load = () => import('#cmd/snapshot/snapshot.ts')
