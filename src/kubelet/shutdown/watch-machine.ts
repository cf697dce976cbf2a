/** What the machine does to the agent and its pods: it shuts down, and runs out of memory. */
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { openKernelLog } from '#base/kernel-log.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Processes } from '#base/processes.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { OomWatcher } from '#kubelet/eviction/oom-watcher.ts'
import type { Kubelet } from '#kubelet/node/kubelet.ts'
import { NodeShutdown, shutdownPeriodsOf } from '#kubelet/shutdown/node-shutdown.ts'
import { SignalledShutdown } from '#kubelet/shutdown/signalled-shutdown.ts'
import { hasSystemd, SystemdShutdown } from '#kubelet/shutdown/systemd-shutdown.ts'

export type WatchMachineOptions = {
  configuration: KubeletConfiguration
  rootDirectory: string
  agent(): Kubelet | undefined
  /** Events about the node. */
  tell(reason: string, message: string): void
  warn(reason: string, message: string): void
}

type Seams = { clock: Clock; files: Files; logger: Logger; metrics: Metrics; processes: Processes }

export type WatchedMachine = {
  /** Undefined where pods get no time of their own at a shutdown. */
  readonly shutdown?: NodeShutdown
  /** The kubelet itself was told to end, by which a machine without systemd shuts down. */
  shutDown?(): Promise<void>
}

export async function watchMachine(options: WatchMachineOptions, seams: Seams, stack: DisposableStack): Promise<WatchedMachine> {
  const { configuration, rootDirectory, agent, tell, warn } = options
  const { clock, files, logger, metrics, processes } = seams
  await protectAgent(configuration.oomScoreAdj, seams)
  const log = openKernelLog()
  if (log !== undefined) stack.use(new OomWatcher({ log, clock, warn }))
  const periods = shutdownPeriodsOf(configuration)
  if (periods.length === 0) return {}
  const signalled = (await hasSystemd(files)) ? undefined : new SignalledShutdown()
  if (signalled !== undefined) logger.info('no systemd runs this machine: pods are ended when the kubelet gets SIGTERM')
  const wantedMs = periods.reduce((sum, { shutdownGracePeriodSeconds }) => sum + shutdownGracePeriodSeconds * 1000, 0)
  const shutdown = new NodeShutdown({
    ...{ periods, rootDirectory, files, clock, logger, metrics, tell },
    notice: signalled ?? stack.use(new SystemdShutdown({ processes, files, clock, logger, wantedMs })),
    activePods: () => agent()?.pods.filter((pod) => !isPodFinished(pod)) ?? [],
    end: async ({ metadata }, failure, graceMs) => agent()?.end(metadata.uid ?? '', failure, graceMs),
    onChange: () => agent()?.checkNode(),
  })
  await shutdown.start().catch((error: unknown) => logger.error('failed to watch for node shutdown', { error: errorMessage(error) }))
  return { shutdown, ...(signalled && { shutDown: () => signalled.shutDown() }) }
}

/** The last to be killed when memory is short: without it nobody looks after pods. */
async function protectAgent(score: number, { files, logger }: Seams): Promise<void> {
  if (score === 0) return
  try {
    await using file = await files.open('/proc/self/oom_score_adj', 'r+')
    await file.write(Buffer.from(String(score)))
  } catch (error) {
    logger.warn('failed to set the OOM score of the kubelet', { score, error: errorMessage(error) })
  }
}
