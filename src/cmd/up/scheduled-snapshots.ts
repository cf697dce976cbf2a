import { join } from 'node:path'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { type SnapshotStatus, saveSnapshot } from '#store/snapshot.ts'
import type { Store } from '#store/store.ts'

export type ScheduledSnapshotsOptions = {
  store: Store
  directory: string
  everyMs: number
  /** How many are kept; the oldest go first. */
  keep: number
}
type Seams = { clock: Clock; files: Files; logger: Logger }

const name = /^snapshot-\d{8}T\d{6}Z\.snap$/

/** Saves the store at intervals, the first time after one of them since the newest snapshot that is there. */
export async function scheduleSnapshots(options: ScheduledSnapshotsOptions, seams: Seams): Promise<AsyncDisposable> {
  const { clock, files, logger } = seams
  const log = logger.with({ component: 'store' })
  let saving = Promise.resolve()
  const save = () => {
    saving = saving
      .then(() => saveOne(options, seams))
      .then(({ file, status }) =>
        log.info('saved a snapshot of the store', { file, revision: status.revision, sizeBytes: status.sizeBytes }),
      )
      .catch((error: unknown) =>
        log.error('failed to save a snapshot of the store', { directory: options.directory, error: String(error) }),
      )
  }
  const newest = await files.stat(join(options.directory, (await snapshotsIn(options.directory, files)).at(-1) ?? 'none'))
  const sinceNewestMs = newest === undefined ? 0 : Math.max(clock.now() - newest.modifiedMs, 0)
  const running = new DisposableStack()
  running.use(
    clock.after(Math.max(options.everyMs - sinceNewestMs, 0), () => {
      save()
      running.use(clock.every(options.everyMs, save))
    }),
  )
  return {
    async [Symbol.asyncDispose]() {
      running.dispose()
      await saving
    },
  }
}

async function saveOne({ store, directory, keep }: ScheduledSnapshotsOptions, { clock, files }: Seams) {
  await files.makeDirectory(directory)
  const time = new Date(clock.now()).toISOString().replace(/[-:]|\.\d+/g, '')
  const file = join(directory, `snapshot-${time}.snap`)
  const status: SnapshotStatus = await saveSnapshot(store, file, files)
  const old = (await snapshotsIn(directory, files)).slice(0, -keep)
  for (const each of old) await files.removeOne(join(directory, each))
  return { file, status }
}

/** By their time, oldest first; other files in the directory are somebody else's. */
async function snapshotsIn(directory: string, files: Files): Promise<string[]> {
  return (await files.list(directory)).filter((each) => name.test(each))
}
