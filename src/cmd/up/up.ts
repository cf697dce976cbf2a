import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import type { LogLevel } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { systemRandom } from '#base/random.ts'
import { openStore } from '#cmd/up/open-store.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { readyText } from '#cmd/up/ready-text.ts'

/** Runs a cluster until a signal ends it. */
export async function up(options: UpOptions): Promise<void> {
  const logger = pinoLogger({ level: options.logLevel as LogLevel })
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  const seams = { clock: systemClock, random: systemRandom, files: nodeFiles, logger }
  // A thread opens the file while this one loads the rest of the program.
  const opening = openStore(options, seams)
  opening.catch(() => {})
  const { addClusterComponents } = await import('#cmd/up/cluster.ts')
  const cluster = await addClusterComponents(lifecycle, options, seams, opening)
  await runUntilSignal(lifecycle, processSignals, () => {
    thisProcess.print(readyText(cluster.kubeconfigPath, cluster.url()))
    // A parent that waits for us (up -d) learns it from this file.
    return nodeFiles.write(
      join(options.dataDir, 'ready'),
      JSON.stringify({ pid: thisProcess.pid, url: cluster.url(), kubeconfig: cluster.kubeconfigPath }),
    )
  })
  await nodeFiles.remove(join(options.dataDir, 'ready'))
  // Everything that must be kept is on disk by now; what still holds the process may not keep its user waiting.
  thisProcess.exit(0)
}
