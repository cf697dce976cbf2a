import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import type { proxyOptions } from '#cmd/proxy/command.ts'
import { serveProxyHealth, serveProxyMetrics } from '#cmd/proxy/serve-proxy-health.ts'
import { withFlags } from '#cmd/proxy/settings.ts'
import { cleanUpProxy, startProxy } from '#cmd/proxy/start-proxy.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { applyMachineSettings } from '#proxy/configuration/machine-settings.ts'
import { defaultProxyConfiguration, type ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import { checkConfiguration, readProxyConfiguration } from '#proxy/configuration/read-configuration.ts'

type Options = OptionValues<typeof proxyOptions>

/** Runs a proxy until a signal ends it; services go on working by the rules it leaves. */
export async function runProxyCommand(options: Options, configPath: string | undefined, wasGiven: (key: string) => boolean): Promise<void> {
  const logger = loggerOf({ ...options, logLevel: options.v >= 4 ? 'debug' : options.logLevel }).with({ component: 'kube-proxy' })
  const seams = { clock: systemClock, random: systemRandom, files: nodeFiles, logger }
  const read = configPath === undefined ? undefined : await readProxyConfiguration(await nodeFiles.readText(configPath), configPath)
  if (read !== undefined && read.ignored.length > 0) logger.warn('ignored fields of the KubeProxyConfiguration', { settings: read.ignored })
  const configuration = withFlags(read?.configuration ?? defaultProxyConfiguration(), options, wasGiven)
  checkConfiguration(configuration, 'the flags')
  if (!/^([0-9a-f]{6,})?$/.test(options.clusterId)) throw new Error('--cluster-id: six hexadecimal digits or more are wanted')
  if (options.writeConfigTo !== '') return await nodeFiles.write(options.writeConfigTo, documentOf(configuration), { mode: 0o644 })
  if (options.cleanup) return await cleanUpProxy(configuration, options.clusterId, seams)
  if (options.initOnly) return await applyMachineSettings(configuration, thisMachine().cores, seams)

  const nodeName = (configuration.hostnameOverride || thisMachine().hostname).toLowerCase()
  const metrics = new Metrics()
  const client = await openClient({
    kubeconfig: configuration.clientConnection.kubeconfig,
    userAgent: `kube-proxy/${kubernetesVersion}`,
    ...omitEmpty({ server: options.master }),
  })
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  await runUntilSignal(lifecycle, processSignals, async () => {
    const { health, mode, synced } = await lifecycle.stage('proxy', async (stage) => {
      stage.use(client)
      const running = await startProxy({ client, configuration, nodeName, clusterId: options.clusterId, metrics }, seams)
      stage.defer(() => running.stop())
      return running
    })
    await lifecycle.stage('health', async (stage) => {
      for (const serve of [serveProxyHealth, serveProxyMetrics]) {
        const listener = await serve({ configuration, mode, metrics, health }).catch((error: unknown) => {
          if (configuration.bindAddressHardFail) throw error
          logger.error('failed to serve healthz or metrics', { error: String(error) })
          return undefined
        })
        if (listener) stage.defer(() => listener.close())
      }
    })
    thisProcess.print(`The proxy is running on node ${nodeName}, by ${mode}`)
    void synced.then(async () => {
      logger.info('kube-proxy is running', { mode })
      // Another mode may have been used before: its rules are not needed now that ours are there.
      await cleanUpProxy(configuration, options.clusterId, seams, mode)
    })
  })
}

function documentOf(configuration: ProxyConfiguration): string {
  return `${JSON.stringify({ apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', kind: 'KubeProxyConfiguration', ...configuration }, undefined, 2)}\n`
}
