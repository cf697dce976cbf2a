import { join } from 'node:path'
import { findCgroups } from '#base/cgroup-files.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisHost } from '#base/host.ts'
import { giveBackIdleMemory } from '#base/idle-memory.ts'
import { kernelFiles } from '#base/kernel-files.ts'
import { Lifecycle, processSignals, runUntilSignal, type Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { requestNodeCertificate } from '#client/certificates/request-certificate.ts'
import type { Client } from '#client/client.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { openNodeClient, writeNodeKubeconfig } from '#cmd/join/node-client.ts'
import type { kubeletOptions } from '#cmd/kubelet/command.ts'
import { KubeletNode } from '#cmd/kubelet/kubelet-node.ts'
import { refuseMachine } from '#cmd/kubelet/refuse-machine.ts'
import { withFlags } from '#cmd/kubelet/settings.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import type { EmbeddedSeams } from '#cmd/runtime/start-embedded-runtime.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { DynamicConfiguration } from '#kubelet/configuration/dynamic/dynamic-configuration.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { readKubeletConfigurations } from '#kubelet/configuration/read-configuration.ts'
import { noApiClient } from '#kubelet/node/no-api.ts'
import { runOnce } from '#kubelet/node/run-once.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { shutdownPeriodsOf } from '#kubelet/shutdown/node-shutdown.ts'

type Options = OptionValues<typeof kubeletOptions>

/** A file, and flags of fields that it may have, as another. */
type GivenConfiguration = { path: string | undefined; ofFlags: string | undefined }

/** Beside the time of the pods, that of all else that ends. */
const drainMs = 5000

/** Runs a kubelet until a signal ends it; its pods run on. */
export async function runKubeletCommand(options: Options, given: GivenConfiguration, wasGiven: (key: string) => boolean): Promise<void> {
  if (!thisProcess.isRoot) throw new Error('a kubelet must be run by root (sudo)')
  const [clock, random, files] = [systemClock, systemRandom, nodeFiles]
  const logger = loggerOf(options).with({ component: 'kubelet' })
  const local = await readLocal(options, given, logger)
  const name = (options.hostnameOverride || thisMachine().hostname).toLowerCase()
  const place = { directory: options.dynamicConfigDir, nodeName: name, files, clock, logger }
  const dynamic = options.dynamicConfigDir === '' ? undefined : new DynamicConfiguration(place)
  /** Flags go before everything. */
  const choose = async () => withFlags((await dynamic?.choose()) ?? local, options, wasGiven)
  const configuration = await choose()
  const { swapBytes } = await thisHost.facts()
  refuseMachine(configuration, { swapBytes, cgroupVersion: (await findCgroups(files))?.version, kernel: kernelFiles })
  await ensureKubeconfig(options, name, files)
  const graceMs = shutdownPeriodsOf(configuration).reduce((sum, { shutdownGracePeriodSeconds: seconds }) => sum + seconds * 1000, 0)
  const lifecycle = new Lifecycle({ clock, logger, drainMs: drainMs + graceMs })
  await runUntilSignal(lifecycle, processSignals, async () => {
    const node = await lifecycle.stage('node', async (stage) => {
      const idleMemory = giveBackIdleMemory(clock)
      stage.defer(() => idleMemory.cancel())
      const client = await clientOf(stage, options, configuration, name, { clock, random, files, logger })
      const connection =
        options.containerRuntime === 'docker' ? await dockerOf(stage, options, { files, clock, random, logger }) : undefined
      const kubelet = new KubeletNode({
        name,
        client: client ?? noApiClient(),
        isStandalone: client === undefined,
        options,
        dynamic,
        choose,
        connection,
        logger,
      })
      stage.onDrain(() => kubelet.shutDown())
      stage.defer(() => kubelet.stop())
      await kubelet.start(configuration)
      return kubelet
    })
    if (configuration.runOnce) {
      const names = await runOnce({ pods: () => node.pods, clock, signal: lifecycle.signal })
      thisProcess.print(`Pods started: ${names.join(', ')}`)
      await node.stop()
      thisProcess.exit(0)
    }
    thisProcess.print(`The kubelet of node ${name} is running`)
  })
  // Streams to pods that are still open may not keep us waiting.
  thisProcess.exit(0)
}

async function readLocal(options: Options, given: GivenConfiguration, logger: Logger): Promise<KubeletConfiguration | undefined> {
  const paths = [...(given.path === undefined ? [] : [given.path]), ...(await dropIns(options.configDir, nodeFiles))]
  const texts = await Promise.all(paths.map(async (path) => ({ path, text: await nodeFiles.readText(path) })))
  if (given.ofFlags !== undefined) texts.push({ path: 'flags', text: given.ofFlags })
  if (texts.length === 0) return undefined
  const { configuration, ignored } = await readKubeletConfigurations(texts)
  if (ignored.length > 0) logger.warn('ignored fields of the KubeletConfiguration', { settings: ignored })
  return configuration
}

async function dockerOf(stage: Stage, options: Options, seams: EmbeddedSeams): Promise<CriConnection> {
  const { startDockerRuntime } = await import('#cmd/runtime/start-docker-runtime.ts')
  const { dockerEndpoint: endpoint, podInfraContainerImage, rootDir, cniConfDir, cniBinDir } = options
  const place = { endpoint, directory: join(rootDir, 'dockershim'), cniConfigDirectory: cniConfDir, cniBinDirectory: cniBinDir }
  return startDockerRuntime(stage, { ...place, ...omitEmpty({ sandboxImage: podInfraContainerImage }) }, seams)
}

/** Undefined where no API server is named: the kubelet then runs static pods alone. */
async function clientOf(
  stage: Stage,
  { kubeconfig }: Options,
  { rotateCertificates, runOnce: isRunOnce }: KubeletConfiguration,
  nodeName: string,
  seams: { clock: typeof systemClock; random: typeof systemRandom; files: typeof nodeFiles; logger: Logger },
): Promise<Client | undefined> {
  if (isRunOnce) return undefined
  if (kubeconfig === '') {
    seams.logger.info('no --kubeconfig: the kubelet is standalone, without an API server')
    return undefined
  }
  const place = { kubeconfig, nodeName, userAgent: `kubelet/${kubernetesVersion}` }
  return rotateCertificates ? openNodeClient(stage, place, seams) : stage.use(await openClient(place))
}

async function dropIns(directory: string, files: typeof nodeFiles): Promise<string[]> {
  if (directory === '') return []
  return (await files.list(directory)).filter((name) => name.endsWith('.conf')).map((name) => join(directory, name))
}

/** TLS bootstrap: a kubelet that has no kubeconfig yet asks for a certificate with the credentials of another one. */
async function ensureKubeconfig({ kubeconfig, bootstrapKubeconfig }: Options, nodeName: string, files: typeof nodeFiles): Promise<void> {
  if (bootstrapKubeconfig === '' || kubeconfig === '' || (await files.stat(kubeconfig)) !== undefined) return
  using bearer = await openClient({ kubeconfig: bootstrapKubeconfig, userAgent: `kubelet/${kubernetesVersion}` })
  const issued = await requestNodeCertificate(bearer, { nodeName, clock: systemClock })
  await writeNodeKubeconfig(files, kubeconfig, issued, bootstrapKubeconfig)
}
