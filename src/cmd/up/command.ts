/** `typernetes up`: a cluster in this process, or in one that it leaves behind. */
import { join } from 'node:path'
import { load } from 'js-yaml'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import type { LogLevel } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { addOptions, type Command, optionValues } from '#base/options.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { systemRandom } from '#base/random.ts'
import { addClusterComponents } from '#cmd/up/cluster.ts'
import { startDetached } from '#cmd/up/detached.ts'
import { type UpOptions, upOptions } from '#cmd/up/options.ts'

export function upCommand(command: Command): void {
  addOptions(command, upOptions)
  command.action(async () => {
    const options = optionValues(command, upOptions, await configuration(command.opts()['config']))
    if (options.detach) await startDetached(options)
    else await up(options)
  })
}

async function configuration(path: unknown): Promise<Record<string, unknown>> {
  if (typeof path !== 'string') return {}
  const loaded: unknown = load(await nodeFiles.readText(path))
  if (loaded === null || typeof loaded !== 'object' || Array.isArray(loaded)) throw new Error(`${path} is no map of settings`)
  return loaded as Record<string, unknown>
}

/** Runs a cluster until a signal ends it. */
export async function up(options: UpOptions): Promise<void> {
  const logger = pinoLogger({ level: options.logLevel as LogLevel })
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  const cluster = addClusterComponents(lifecycle, options, { clock: systemClock, random: systemRandom, files: nodeFiles, logger })
  await runUntilSignal(lifecycle, processSignals, () => {
    thisProcess.print(readyText(cluster.kubeconfigPath, cluster.url()))
    // A parent that waits for us (up -d) learns it from this file.
    return nodeFiles.write(
      join(options.dataDir, 'ready'),
      JSON.stringify({ pid: thisProcess.pid, url: cluster.url(), kubeconfig: cluster.kubeconfigPath }),
    )
  })
  await nodeFiles.remove(join(options.dataDir, 'ready'))
}

export function readyText(kubeconfigPath: string, url: string): string {
  return `The cluster is ready at ${url}\nNext: export KUBECONFIG='${kubeconfigPath}' && kubectl get namespaces`
}
