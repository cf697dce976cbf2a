import { resolve } from 'node:path'
import { Node } from '#api/core/v1/kinds.gen.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { giveBackIdleMemory } from '#base/idle-memory.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import type { LogLevel } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { systemRandom } from '#base/random.ts'
import { type RunningCluster, readyPath, runningCluster } from '#cmd/running/running-cluster.ts'
import type { Cluster } from '#cmd/up/cluster.ts'
import { openStore } from '#cmd/up/open-store.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { clusterParts, kubectlCommand, readyText } from '#cmd/up/ready-text.ts'

/** Runs a cluster until a signal ends it. `prepare` does what else belongs to its start, and gives what else a user is told. */
export async function up(options: UpOptions, prepare?: (cluster: Cluster, lifecycle: Lifecycle) => Promise<string>): Promise<void> {
  const other = await runningCluster(options.dataDir)
  if (other) throw alreadyRunning(other, options.dataDir)
  const logger = pinoLogger({ level: options.logLevel as LogLevel })
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  const seams = { clock: systemClock, random: systemRandom, files: nodeFiles, logger }
  // A thread opens the file while this one loads the rest of the program.
  const opening = openStore(options, seams)
  opening.catch(() => {})
  const { startClusterStages } = await import('#cmd/up/cluster.ts')
  await runUntilSignal(lifecycle, processSignals, async () => {
    const started = await startClusterStages(lifecycle, options, seams, opening)
    const { url, kubeconfigPath, apiServer, controllerCount, whyNoNode } = started
    const note = await prepare?.(started, lifecycle)
    const { cluster } = apiServer.server
    const parts = clusterParts({ cluster, options, controllerCount, whyNoNode })
    const ready = { url, kubeconfig: resolve(kubeconfigPath), parts, hasNodes: cluster.list(Node).length > 0, ...defined({ note }) }
    thisProcess.print(readyText(ready, await kubectlCommand(nodeFiles)))
    // A parent that waits for us (up -d) learns it from this file, and so do down and status.
    const running: RunningCluster = { pid: thisProcess.pid, startedMs: systemClock.now(), ...ready }
    await nodeFiles.write(readyPath(options.dataDir), JSON.stringify(running))
    giveBackIdleMemory(systemClock)
  })
  await nodeFiles.remove(readyPath(options.dataDir))
  if (!['sim', 'none'].includes(options.runtime)) {
    const { podsRunOn, runningPods } = await import('#cmd/running/running-pods.ts')
    const left = podsRunOn(await runningPods(options.dataDir))
    if (left !== undefined) thisProcess.print(left)
  }
  // Everything that must be kept is on disk by now; what still holds the process may not keep its user waiting.
  thisProcess.exit(0)
}

function alreadyRunning({ pid, url }: RunningCluster, dataDir: string): Error {
  return new Error(
    `a cluster runs in ${dataDir} already (process ${pid}, ${url}); stop it with typernetes down, or choose another --data-dir`,
  )
}
