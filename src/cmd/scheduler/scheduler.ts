import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { parseDurationMs } from '#base/duration.ts'
import { nodeFiles } from '#base/files.ts'
import { type HttpClientOptions, nodeHttpClient } from '#base/http-client.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import type { LogLevel } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { OptionValues } from '#base/options.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { systemRandom } from '#base/random.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { LeaderElector } from '#client/leader-election/leader-elector.ts'
import type { schedulerOptions } from '#cmd/scheduler/command.ts'
import { serveHealth } from '#cmd/serve-health.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { type ConfiguredExtender, defaultConfiguration, type SchedulerConfiguration } from '#scheduler/config/configuration.ts'
import { readConfiguration } from '#scheduler/config/read-configuration.ts'
import { httpExtender } from '#scheduler/extender/http-extender.ts'
import { openScheduler, type RunningScheduler } from '#scheduler/run-scheduler.ts'

type Options = OptionValues<typeof schedulerOptions>

/** Runs a scheduler until a signal ends it, or another one leads. */
export async function runSchedulerCommand(
  options: Options,
  configPath: string | undefined,
  wasGiven: (key: string) => boolean,
): Promise<void> {
  const configuration = await configurationOf(options, configPath, wasGiven)
  const logger = pinoLogger({ level: options.logLevel as LogLevel }).with({ component: 'kube-scheduler' })
  const [clock, random, metrics] = [systemClock, systemRandom, new Metrics()]
  const client = await openClient({
    kubeconfig: options.kubeconfig || configuration.clientConnection.kubeconfig,
    server: options.master,
    userAgent: `kube-scheduler/${kubernetesVersion}`,
  })
  const extenders = await Promise.all(
    configuration.extenders.map(async (each) => httpExtender(each, nodeHttpClient(await connectionOf(each)), clock)),
  )
  const { hostname } = thisMachine()
  const lifecycle = new Lifecycle({ clock, logger })
  const isOver = new AbortController()
  await runUntilSignal(lifecycle, processSignals, async () => {
    await lifecycle.stage('scheduler', async (stage) => {
      stage.use(client)
      const opened = openScheduler({ client, clock, random, logger, configuration, metrics, extenders, instance: hostname })
      stage.defer(() => opened.stop())
      await opened.follow(stage.signal)
      const leading = configuration.leaderElection.leaderElect ? lead(opened) : opened.lead(isOver.signal)
      stage.defer(async () => {
        isOver.abort()
        await leading
      })
    })
    if (options.securePort !== 0) {
      await lifecycle.stage('health', async (stage) => {
        const { bindAddress: host, securePort: port } = options
        const listener = await serveHealth({ component: 'kube-scheduler', host, port, metrics, clock, random })
        stage.defer(() => listener.close())
      })
    }
    thisProcess.print('The scheduler is running')
  })

  async function lead(scheduler: RunningScheduler): Promise<void> {
    const { leaderElection } = configuration
    const elector = new LeaderElector({
      client,
      clock,
      random,
      logger,
      namespace: leaderElection.resourceNamespace,
      name: leaderElection.resourceName,
      identity: `${hostname}_${random.uuid()}`,
      leaseDurationMs: parseDurationMs(leaderElection.leaseDuration),
      renewDeadlineMs: parseDurationMs(leaderElection.renewDeadline),
      retryPeriodMs: parseDurationMs(leaderElection.retryPeriod),
      lead: (signal) => void scheduler.lead(AbortSignal.any([signal, isOver.signal])),
    })
    await elector.run(isOver.signal)
    if (isOver.signal.aborted) return
    // What was decided while we led may be half done elsewhere by now: begin anew, as upstream does.
    thisProcess.complain('leaderelection lost')
    thisProcess.exit(1)
  }
}

/** Flags go before the file, where they are given. */
async function configurationOf(
  options: Options,
  path: string | undefined,
  wasGiven: (key: string) => boolean,
): Promise<SchedulerConfiguration> {
  const configuration = path === undefined ? defaultConfiguration() : await readConfiguration(await nodeFiles.readText(path), path)
  const { leaderElection } = configuration
  if (wasGiven('leaderElect')) leaderElection.leaderElect = options.leaderElect
  if (wasGiven('leaderElectLeaseDuration')) leaderElection.leaseDuration = `${options.leaderElectLeaseDuration}ms`
  if (wasGiven('leaderElectRenewDeadline')) leaderElection.renewDeadline = `${options.leaderElectRenewDeadline}ms`
  if (wasGiven('leaderElectRetryPeriod')) leaderElection.retryPeriod = `${options.leaderElectRetryPeriod}ms`
  if (wasGiven('leaderElectResourceName')) leaderElection.resourceName = options.leaderElectResourceName
  if (wasGiven('leaderElectResourceNamespace')) leaderElection.resourceNamespace = options.leaderElectResourceNamespace
  return configuration
}

/** An extender over HTTPS whose authority nobody names is believed, as upstream does. */
async function connectionOf({ enableHTTPS, tlsConfig = {} }: ConfiguredExtender): Promise<HttpClientOptions> {
  const material = async (file: string | undefined, data: string | undefined) =>
    data ? Buffer.from(data, 'base64').toString() : file ? await nodeFiles.readText(file) : undefined
  const [ca, cert, key] = await Promise.all([
    material(tlsConfig.caFile, tlsConfig.caData),
    material(tlsConfig.certFile, tlsConfig.certData),
    material(tlsConfig.keyFile, tlsConfig.keyData),
  ])
  return {
    ...defined({ ca, cert, key }),
    ...omitEmpty({ serverName: tlsConfig.serverName }),
    ...(tlsConfig.insecure || (enableHTTPS && ca === undefined) ? { insecureSkipVerify: true } : {}),
  }
}
