/** `typernetes store`: what a cluster's store can be made to do while the cluster is stopped. */
import { addOptions, type Command, defineOptions, optionValues, text } from '#base/options.ts'
import { upOptions } from '#cmd/up/options.ts'

const { dataDir, listen, etcdCafile, etcdCertfile, etcdKeyfile } = upOptions
export const migrateOptions = defineOptions({
  dataDir,
  ...{ etcdCafile, etcdCertfile, etcdKeyfile },
  listen: { ...listen, help: 'with --to etcd: by which address of this machine other members of its etcd reach it' },
  from: text('where the objects are: sqlite or etcd (in --data-dir), or etcd://HOST:PORT,…', { placeholder: 'STORE', default: 'sqlite' }),
  to: text('where they go, which must hold none: sqlite or etcd (in --data-dir), or etcd://HOST:PORT,…', {
    placeholder: 'STORE',
    default: '',
  }),
})

export function storeCommand(command: Command): void {
  const migrate = command.command('migrate').description('copy the objects of a stopped cluster into another store')
  addOptions(migrate, migrateOptions)
  migrate.action(async () => {
    const { migrateStore } = await import('#cmd/store/migrate-store.ts')
    await migrateStore(optionValues(migrate, migrateOptions))
  })
}
