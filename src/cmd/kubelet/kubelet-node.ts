/** The node of a kubelet, which is started again with another configuration when the API has assigned it one. */
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { OptionValues } from '#base/options.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { kubeletOptions } from '#cmd/kubelet/command.ts'
import { keepServingCertificate } from '#cmd/kubelet/keep-serving-certificate.ts'
import { servingCertificate } from '#cmd/kubelet/serving-certificate.ts'
import { parseLabels } from '#cmd/kubelet/settings.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import type { DynamicConfiguration } from '#kubelet/configuration/dynamic/dynamic-configuration.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { type RunningNode, startNode } from '#kubelet/run-node.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'

export type KubeletNodeOptions = {
  name: string
  client: Client
  /** There is no API server. */
  isStandalone: boolean
  options: OptionValues<typeof kubeletOptions>
  /** Absent where the kubelet's own files and flags are all there is. */
  dynamic: DynamicConfiguration | undefined
  /** The configuration to start with now. */
  choose(): Promise<KubeletConfiguration>
  /** A runtime in this process, in place of the configuration's. */
  connection: CriConnection | undefined
  logger: Logger
}

export class KubeletNode {
  readonly #options: KubeletNodeOptions
  #running: RunningNode | undefined
  #following: Disposable | undefined
  #serving: Disposable | undefined
  #isStopped = false

  constructor(options: KubeletNodeOptions) {
    this.#options = options
  }

  get pods(): V1Pod[] {
    return this.#running?.agent.pods ?? []
  }

  async start(configuration: KubeletConfiguration): Promise<void> {
    const { name, client, isStandalone, options, dynamic, connection, logger } = this.#options
    const [clock, random, files, metrics] = [systemClock, systemRandom, nodeFiles, new Metrics()]
    const addresses = options.nodeIp.length > 0 ? [...options.nodeIp] : thisMachine().addresses().slice(0, 1)
    const caFile = configuration.authentication.x509.clientCAFile ?? ''
    const authorities = caFile === '' ? [] : certificatesIn(await files.readText(caFile))
    const certificates = options.certDir || join(options.rootDir, 'pki')
    const tls = await servingCertificate(configuration, { name, addresses, directory: certificates }, { clock, random, files })
    const node = await startNode(
      {
        ...{ name, client, configuration, addresses, labels: parseLabels(options.nodeLabels), rootDirectory: options.rootDir },
        ...{ socket: configuration.containerRuntimeEndpoint, version: kubernetesVersion, isPatient: true, isStandalone },
        ...{ checkpointDirectory: options.bootstrapCheckpointPath, problemPlugins: options.nodeProblemPlugins },
        cadvisorPort: options.cadvisorPort,
        ...defined({ credentialProviders: credentialProvidersOf(options) }),
        ...defined({ connection, cloud: options.cloudProvider === 'external' ? { addresses: [...options.nodeIp] } : undefined }),
        ...(dynamic && { configStatus: () => dynamic.status }),
        serving: {
          tls: { ...tls, ...omitEmpty({ clientCa: authorities.map(String) }) },
          clientAuthorities: () => authorities,
        },
      },
      { clock, random, files, logger, processes: nodeProcesses, metrics, http: () => nodeHttpClient() },
    )
    this.#running = node
    if (configuration.serverTLSBootstrap && configuration.tlsCertFile === '' && !isStandalone && !this.#isStopped) {
      const clientCa = omitEmpty({ clientCa: authorities.map(String) })
      this.#serving = keepServingCertificate(
        {
          ...{ client, nodeName: name, directory: certificates, subjectAltNames: { dnsNames: [name], ipAddresses: addresses } },
          onCertificate: (certificate) => node.setTls({ ...certificate, ...clientCa }),
        },
        { clock, random, files, logger },
      )
    }
    if (this.#isStopped) await node.stop()
    else if (!isStandalone) {
      this.#following = dynamic?.follow({
        ...{ client, random, metrics },
        onStatus: () => node.agent.checkNode(),
        restart: this.#restartFor,
      })
    }
  }

  /** The machine shuts down, and nobody else has told the pods. */
  async shutDown(): Promise<void> {
    await this.#running?.shutDown?.()
  }

  /** Leaves the pods running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#following?.[Symbol.dispose]()
    this.#serving?.[Symbol.dispose]()
    await this.#running?.stop()
  }

  readonly #restartFor = (message: string): void => {
    const { name, logger, choose } = this.#options
    const restart = async () => {
      logger.info(message, { node: name })
      this.#following?.[Symbol.dispose]()
      this.#serving?.[Symbol.dispose]()
      const { agent } = this.#running ?? {}
      agent?.events.recordFor({ kind: 'Node', name, uid: name, apiVersion: 'v1' }, 'Normal', 'KubeletConfigChanged', message)
      await agent?.flushEvents()
      await this.#running?.stop()
      if (!this.#isStopped) await this.start(await choose())
    }
    restart().catch((error: unknown) => {
      logger.error('failed to restart the kubelet with its new configuration', { error: String(error) })
      // As after every failed start, whoever looks after this process tries again.
      thisProcess.exit(1)
    })
  }
}

/** Upstream wants both flags, or none. */
function credentialProvidersOf({
  imageCredentialProviderConfig: config,
  imageCredentialProviderBinDir: programs,
}: KubeletNodeOptions['options']) {
  if (config === '' && programs === '') return undefined
  if (config === '' || programs === '') {
    throw new Error('--image-credential-provider-config and --image-credential-provider-bin-dir are given together')
  }
  return { config, programs }
}

function certificatesIn(pem: string): X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return found.map((text) => new X509Certificate(text))
}
