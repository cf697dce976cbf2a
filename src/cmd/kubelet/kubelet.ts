import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { giveBackIdleMemory } from '#base/idle-memory.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import type { LogLevel } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import type { OptionValues } from '#base/options.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { requestNodeCertificate } from '#client/certificates/request-certificate.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { openNodeClient, writeNodeKubeconfig } from '#cmd/join/node-client.ts'
import type { kubeletOptions } from '#cmd/kubelet/command.ts'
import { servingCertificate } from '#cmd/kubelet/serving-certificate.ts'
import { parseLabels, withFlags } from '#cmd/kubelet/settings.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { readKubeletConfiguration } from '#kubelet/configuration/read-configuration.ts'
import { startNode } from '#kubelet/run-node.ts'

/** Runs a kubelet until a signal ends it; its pods run on. */
export async function runKubeletCommand(
  options: OptionValues<typeof kubeletOptions>,
  configPath: string | undefined,
  wasGiven: (key: string) => boolean,
): Promise<void> {
  if (!thisProcess.isRoot) throw new Error('a kubelet must be run by root (sudo)')
  const [clock, random, files] = [systemClock, systemRandom, nodeFiles]
  const logger = pinoLogger({ level: options.logLevel as LogLevel }).with({ component: 'kubelet' })
  const read = configPath === undefined ? undefined : await readKubeletConfiguration(await files.readText(configPath), configPath)
  if (read !== undefined && read.ignored.length > 0) logger.warn('ignored fields of the KubeletConfiguration', { settings: read.ignored })
  const configuration = withFlags(read?.configuration, options, wasGiven)
  const name = (options.hostnameOverride || thisMachine().hostname).toLowerCase()
  const addresses = options.nodeIp.length > 0 ? [...options.nodeIp] : thisMachine().addresses().slice(0, 1)
  await ensureKubeconfig(options, name, files)
  const caFile = configuration.authentication.x509.clientCAFile ?? ''
  const authorities = caFile === '' ? [] : certificatesIn(await files.readText(caFile))
  const certificates = options.certDir || join(options.rootDir, 'pki')
  const tls = await servingCertificate(configuration, { name, addresses, directory: certificates }, { clock, random, files })
  const lifecycle = new Lifecycle({ clock, logger })
  await runUntilSignal(lifecycle, processSignals, async () => {
    await lifecycle.stage('node', async (stage) => {
      const place = { kubeconfig: options.kubeconfig, nodeName: name, userAgent: `kubelet/${kubernetesVersion}` }
      const client = configuration.rotateCertificates
        ? await openNodeClient(stage, place, { clock, random, files, logger })
        : stage.use(await openClient(place))
      const idleMemory = giveBackIdleMemory(clock)
      stage.defer(() => idleMemory.cancel())
      const node = await startNode(
        {
          ...{ name, client, configuration, addresses, labels: parseLabels(options.nodeLabels), rootDirectory: options.rootDir },
          ...{ socket: configuration.containerRuntimeEndpoint, version: kubernetesVersion, isPatient: true },
          serving: {
            tls: { ...tls, ...(authorities.length > 0 ? { clientCa: authorities.map(String) } : {}) },
            clientAuthorities: () => authorities,
          },
        },
        { clock, random, files, logger, processes: nodeProcesses, metrics: new Metrics(), http: () => nodeHttpClient() },
      )
      stage.defer(() => node.stop())
    })
    thisProcess.print(`The kubelet of node ${name} is running`)
  })
  // Streams to pods that are still open may not keep us waiting.
  thisProcess.exit(0)
}

/** TLS bootstrap: a kubelet that has no kubeconfig yet asks for a certificate with the credentials of another one. */
async function ensureKubeconfig(
  { kubeconfig, bootstrapKubeconfig }: OptionValues<typeof kubeletOptions>,
  nodeName: string,
  files: typeof nodeFiles,
): Promise<void> {
  if (bootstrapKubeconfig === '' || kubeconfig === '' || (await files.stat(kubeconfig)) !== undefined) return
  using bearer = await openClient({ kubeconfig: bootstrapKubeconfig, userAgent: `kubelet/${kubernetesVersion}` })
  const issued = await requestNodeCertificate(bearer, { nodeName, clock: systemClock })
  await writeNodeKubeconfig(files, kubeconfig, issued, bootstrapKubeconfig)
}

function certificatesIn(pem: string): X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return found.map((text) => new X509Certificate(text))
}
