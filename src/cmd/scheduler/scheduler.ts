import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { parseDurationMs } from '#base/duration.ts'
import { nodeFiles } from '#base/files.ts'
import { type HttpClientOptions, nodeHttpClient } from '#base/http-client.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { LeaderElector } from '#client/leader-election/leader-elector.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import type { schedulerOptions } from '#cmd/scheduler/command.ts'
import { serveHealth } from '#cmd/serve-health.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { sayGatesWithoutEffect } from '#cmd/without-effect.ts'
import { providedConfiguration } from '#scheduler/config/algorithm-provider.ts'
import type { ConfiguredExtender, SchedulerConfiguration } from '#scheduler/config/configuration.ts'
import { effectiveSchedulerGates } from '#scheduler/config/feature-gates.ts'
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
  const logger = loggerOf(options).with({ component: 'kube-scheduler' })
  sayGatesWithoutEffect(options.featureGates, effectiveSchedulerGates, logger)
  const { isEnabled } = new FeatureGates(options.featureGates.join(','))
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
      const opened = openScheduler({ client, clock, random, logger, configuration, metrics, extenders, isEnabled, instance: hostname })
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
        const tls = await servingPair(options)
        const listener = await serveHealth({ component: 'kube-scheduler', host, port, metrics, clock, random, ...defined({ tls }) })
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

async function servingPair({ tlsCertFile, tlsPrivateKeyFile }: Options): Promise<{ cert: string; key: string } | undefined> {
  if (tlsCertFile === '') return undefined
  return { cert: await nodeFiles.readText(tlsCertFile), key: await nodeFiles.readText(tlsPrivateKeyFile) }
}

/** Flags go before the file, where they are given. */
async function configurationOf(
  options: Options,
  path: string | undefined,
  wasGiven: (key: string) => boolean,
): Promise<SchedulerConfiguration> {
  const configuration = path === undefined ? await withoutFile(options) : await readConfiguration(await nodeFiles.readText(path), path)
  const { leaderElection } = configuration
  if (wasGiven('leaderElect')) leaderElection.leaderElect = options.leaderElect
  if (wasGiven('leaderElectLeaseDuration')) leaderElection.leaseDuration = `${options.leaderElectLeaseDuration}ms`
  if (wasGiven('leaderElectRenewDeadline')) leaderElection.renewDeadline = `${options.leaderElectRenewDeadline}ms`
  if (wasGiven('leaderElectRetryPeriod')) leaderElection.retryPeriod = `${options.leaderElectRetryPeriod}ms`
  if (wasGiven('leaderElectResourceName')) leaderElection.resourceName = options.leaderElectResourceName
  if (wasGiven('leaderElectResourceNamespace')) leaderElection.resourceNamespace = options.leaderElectResourceNamespace
  if (wasGiven('kubeApiQps') && options.kubeApiQps > 0) configuration.clientConnection.qps = options.kubeApiQps
  if (wasGiven('kubeApiBurst')) configuration.clientConnection.burst = options.kubeApiBurst
  configuration.podMaxUnschedulableMs = options.podMaxInUnschedulablePodsDuration
  return configuration
}

const policyKey = 'policy.cfg'

/** What the flags of schedulers before v1.23 say; a config map goes before a file unless somebody says otherwise, as it did. */
async function withoutFile(options: Options): Promise<SchedulerConfiguration> {
  const { policyConfigFile: file, policyConfigmap: name, policyConfigmapNamespace: namespace, useLegacyPolicyConfig } = options
  if (name !== '' && !(useLegacyPolicyConfig && file !== '')) {
    using client = await openClient({
      kubeconfig: options.kubeconfig,
      server: options.master,
      userAgent: `kube-scheduler/${kubernetesVersion}`,
    })
    const { data = {} } = await client.get(ConfigMap, namespace, name)
    const text = data[policyKey]
    if (text === undefined) throw new Error(`missing policy config map value at key "${policyKey}"`)
    return readConfiguration(text, `${namespace}/${name}`)
  }
  if (file !== '') return readConfiguration(await nodeFiles.readText(file), file)
  return providedConfiguration(options.algorithmProvider)
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
    ...omitEmpty({ serverName: tlsConfig.serverName, insecureSkipVerify: tlsConfig.insecure || (enableHTTPS && ca === undefined) }),
  }
}
