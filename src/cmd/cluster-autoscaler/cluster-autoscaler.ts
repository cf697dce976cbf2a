import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { LeaderElector } from '#client/leader-election/leader-elector.ts'
import { openClusterAutoscaler, type RunningClusterAutoscaler } from '#cluster-autoscaler/run-cluster-autoscaler.ts'
import type { ClusterAutoscalerFlags } from '#cmd/cluster-autoscaler/flags.ts'
import { openProvider } from '#cmd/cluster-autoscaler/open-provider.ts'
import { optionsOfFlags } from '#cmd/cluster-autoscaler/options-of-flags.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import { serveHealth } from '#cmd/serve-health.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { readConfiguration } from '#scheduler/config/read-configuration.ts'

/** Runs an autoscaler until a signal ends it, or another one leads. */
export async function runClusterAutoscalerCommand(flags: ClusterAutoscalerFlags): Promise<void> {
  const options = optionsOfFlags(flags)
  const logger = loggerOf(flags).with({ component: 'cluster-autoscaler' })
  const [clock, random, metrics] = [systemClock, systemRandom, new Metrics()]
  const client = await openClient({
    kubeconfig: flags.kubeconfig,
    server: flags.kubernetes,
    userAgent: `cluster-autoscaler/${kubernetesVersion}`,
  })
  const path = flags.schedulerConfigFile
  const schedulerConfiguration = path === '' ? undefined : await readConfiguration(await nodeFiles.readText(path), path)
  const lifecycle = new Lifecycle({ clock, logger })
  const isOver = new AbortController()
  await runUntilSignal(lifecycle, processSignals, async () => {
    await lifecycle.stage('cluster autoscaler', async (stage) => {
      stage.use(client)
      const provider = await openProvider(stage, flags, { client, clock, random, logger, files: nodeFiles })
      const opened = openClusterAutoscaler({
        client,
        clock,
        random,
        logger,
        provider,
        options,
        metrics,
        ...defined({ schedulerConfiguration }),
      })
      stage.defer(() => opened.stop())
      await opened.follow(stage.signal)
      const leading = flags.leaderElect ? lead(opened, client) : opened.lead(isOver.signal)
      stage.defer(async () => {
        isOver.abort()
        await leading
      })
    })
    const { host, port } = addressOf(flags.address)
    if (port !== 0) {
      await lifecycle.stage('health', async (stage) => {
        const listener = await serveHealth({ component: 'cluster-autoscaler', host, port, metrics, clock, random, tls: 'none' })
        stage.defer(() => listener.close())
      })
    }
    thisProcess.print('The cluster autoscaler is running')
  })

  async function lead(autoscaler: RunningClusterAutoscaler, as: Client): Promise<void> {
    let working: Promise<void> = Promise.resolve()
    const elector = new LeaderElector({
      client: as,
      clock,
      random,
      logger,
      namespace: flags.leaderElectResourceNamespace || flags.namespace,
      name: flags.leaderElectResourceName,
      identity: `${thisMachine().hostname}_${random.uuid()}`,
      leaseDurationMs: flags.leaderElectLeaseDuration,
      renewDeadlineMs: flags.leaderElectRenewDeadline,
      retryPeriodMs: flags.leaderElectRetryPeriod,
      lead(signal) {
        working = autoscaler.lead(AbortSignal.any([signal, isOver.signal]))
      },
    })
    await elector.run(isOver.signal)
    await working
    if (isOver.signal.aborted) return
    // What was decided while we led may be half done elsewhere by now: begin anew, as upstream does.
    thisProcess.complain('leaderelection lost')
    thisProcess.exit(1)
  }
}

/** `:8085` is every address of the machine, as upstream has it. */
function addressOf(text: string): { host: string; port: number } {
  const index = text.lastIndexOf(':')
  return { host: text.slice(0, Math.max(0, index)).replace(/^\[|\]$/g, '') || '0.0.0.0', port: Number(text.slice(index + 1)) || 0 }
}
