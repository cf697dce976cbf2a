import { resolve } from 'node:path'
import { Node } from '#api/core/v1/kinds.gen.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'
import { giveBackIdleMemory } from '#base/idle-memory.ts'
import { Lifecycle, processSignals, runUntilSignal, type Signals } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { systemRandom } from '#base/random.ts'
import { thisTerminal } from '#base/terminal.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import { type RunningCluster, readyPath, runningCluster } from '#cmd/running/running-cluster.ts'
import type { Cluster, ClusterSeams } from '#cmd/up/cluster.ts'
import { prepareDataDirectory } from '#cmd/up/data-directory.ts'
import { openStore } from '#cmd/up/open-store.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { clusterParts, kubectlCommand, readyText } from '#cmd/up/ready-text.ts'
import { progressScreen, stageProgress } from '#cmd/up/start-progress.ts'

/** Runs a cluster until a signal ends it. `prepare` does what else belongs to its start, and gives what else a user is told. */
export async function up(options: UpOptions, prepare?: (cluster: Cluster, lifecycle: Lifecycle) => Promise<string>): Promise<void> {
  const other = await runningCluster(options.dataDir)
  if (other) throw alreadyRunning(other, options.dataDir)
  const logger = loggerOf(options)
  if (options.featureGates.length > 0) (await import('#cmd/up/say-idle-gates.ts')).sayIdleGates(options.featureGates, logger)
  const lifecycle = new Lifecycle({ clock: systemClock, logger, onStage: stageProgress(progressScreen()) })
  const seams = { clock: systemClock, random: systemRandom, files: nodeFiles, logger, ...(await rootlessSeams(options, logger)) }
  // A thread opens the file while this one loads the rest of the program.
  const opening = openStore(options, seams)
  opening.catch(() => {})
  const { startClusterStages } = await import('#cmd/up/cluster.ts')
  await runUntilSignal(lifecycle, spokenSignals, async () => {
    const started = await startClusterStages(lifecycle, options, seams, opening)
    const { url, kubeconfigPath, apiServer, controllerCount, whyNoNode } = started
    const note = await prepare?.(started, lifecycle)
    const { cluster } = apiServer.server
    const parts = clusterParts({ cluster, options, controllerCount, whyNoNode })
    const ready = { url, kubeconfig: resolve(kubeconfigPath), parts, hasNodes: cluster.list(Node).length > 0, ...defined({ note }) }
    thisProcess.print(readyText(ready, await kubectlCommand(nodeFiles)))
    // A parent that waits for us (up -d) learns it from this file, and so do down and status.
    const running: RunningCluster = { pid: thisProcess.pid, startedMs: systemClock.now(), args: thisProcess.argv.slice(2), ...ready }
    await nodeFiles.write(readyPath(options.dataDir), JSON.stringify(running))
    giveBackIdleMemory(systemClock)
  })
  await nodeFiles.remove(readyPath(options.dataDir))
  if (!['sim', 'none'].includes(options.runtime)) {
    const { podsRunOn, runningPods } = await import('#cmd/running/running-pods.ts')
    const count = await runningPods(options.dataDir).catch((error) => {
      logger.warn('failed to count the pods that run on', { error: errorMessage(error) })
      return 0
    })
    const left = podsRunOn(count)
    if (left !== undefined) thisProcess.print(left)
  }
  if (options.store === 'etcd') thisProcess.print(`etcd runs on, and is found again; typernetes down ends it`)
  // Everything that must be kept is on disk by now; what still holds the process may not keep its user waiting.
  thisProcess.exit(0)
}

/** A user other than root has a real node in namespaces of the cluster's own. Where there are none yet, the process is started again in them. */
async function rootlessSeams(options: UpOptions, logger: Logger): Promise<Pick<ClusterSeams, 'machineNetwork' | 'whyNotRootless'>> {
  const wantsEmbedded = ['auto', 'embedded'].includes(options.runtime) && options.criSocket === '' && options.nodes > 0
  const { enterUserNamespace, isInOwnNamespaces } = await import('#cmd/rootless/enter-user-namespace.ts')
  if (!isInOwnNamespaces())
    return wantsEmbedded && !thisProcess.isRoot ? defined({ whyNotRootless: await enterUserNamespace(options.dataDir) }) : {}
  await prepareDataDirectory(nodeFiles, options.dataDir)
  const { enterOwnNetwork } = await import('#cmd/rootless/own-network.ts')
  try {
    return { machineNetwork: await enterOwnNetwork(options.dataDir, { files: nodeFiles, logger }) }
  } catch (error) {
    const advice = 'as root (sudo) the cluster needs none, with --runtime sim it has simulated nodes'
    throw new Error(`the network of a cluster without root cannot be made: ${errorMessage(error)}; ${advice}`, { cause: error })
  }
}

/** Ctrl-C is answered at once: an end takes a moment. */
const spokenSignals: Signals = {
  ...processSignals,
  onStop: (callback) =>
    processSignals.onStop((signal) => {
      // The terminal has shown ^C, and stands behind it.
      if (signal === 'SIGINT')
        thisProcess.print(`${thisTerminal.outputIsTerminal ? '\n' : ''}Stopping the cluster; Ctrl-C again ends it at once`)
      callback(signal)
    }),
}

function alreadyRunning({ pid, url }: RunningCluster, dataDir: string): Error {
  return new Error(
    `a cluster runs in ${dataDir} already (process ${pid}, ${url}); stop it with typernetes down, or choose another --data-dir`,
  )
}
