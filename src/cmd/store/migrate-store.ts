import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { systemRandom } from '#base/random.ts'
import { runningCluster } from '#cmd/running/running-cluster.ts'
import type { migrateOptions } from '#cmd/store/command.ts'
import { openStore } from '#cmd/up/open-store.ts'
import { copyStore } from '#store/copy-store.ts'

/** Copies everything of the API from one store to another. The cluster must not run meanwhile: its writes would be lost. */
export async function migrateStore(options: OptionValues<typeof migrateOptions>): Promise<void> {
  const { from, to, dataDir } = options
  if (to === '') throw new Error('--to: say where the objects go: sqlite, etcd, or etcd://HOST:PORT,…')
  if (from === to) throw new Error('--from and --to are the same store')
  const running = await runningCluster(dataDir)
  if (running) throw new Error(`the cluster in ${dataDir} runs (process ${running.pid}); stop it first with typernetes down`)
  const seams = { clock: systemClock, random: systemRandom, files: nodeFiles, logger: pinoLogger({ level: 'warn' }) }
  await using source = await openStore({ ...options, store: from }, seams)
  await using target = await openStore({ ...options, store: to }, seams)
  const count = await copyStore({ from: source, to: target, prefix: '/registry/' })
  thisProcess.print(`Copied ${count} keys from ${from} to ${to}; start the cluster with --store ${to}`)
}
