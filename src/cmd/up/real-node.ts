/** The node of a cluster in one process: this machine, its pods in real containers. */
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { nodeIdentities, nodeServingName } from '#apiserver/pki/identities.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { containerdDirectory, networksDirectory, podCgroupOf, type RuntimeChoice } from '#cmd/up/container-runtime.ts'
import { clientOfNode } from '#cmd/up/nodes.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { defaultKubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import { startNode } from '#kubelet/run-node.ts'
import { startContainerd } from '#kubelet/runtimes/cri/private-containerd.ts'
import { bridgeNameOf, layBridgeNetwork } from '#network/bridge-network.ts'

/** Where the kubelet of this machine is reached by the API server beside it. */
const ownNodeHost = '127.0.0.1'
const aliveCheckMs = 3000
const systemNetworks = '/etc/cni/net.d'

/** Resolves with the node's name and the host that its kubelet listens on. */
export async function startRealNode(
  stage: Stage,
  running: RunningApiServer,
  keys: ClusterKeys,
  options: UpOptions,
  choice: Exclude<RuntimeChoice, { kind: 'none' }>,
  seams: ClusterSeams,
): Promise<{ name: string; host: string }> {
  const { clock, random, files } = seams
  const logger = seams.logger.with({ component: 'kubelet' })
  // As nodes are named: the machine's name, in small letters.
  const name = thisMachine().hostname.toLowerCase()
  const { addresses, first } = ownAddresses(options.listen)
  const isPrivate = choice.kind === 'private'
  const networks = isPrivate ? networksDirectory(options.dataDir) : systemNetworks
  const containerd = isPrivate ? await keepContainerd(choice.directory, networks, { ...seams, logger }) : undefined
  if (containerd) stage.defer(() => containerd.stop())
  const socket = containerd?.socket ?? (choice.kind === 'socket' ? choice.socket : '')
  await keys.add(nodeIdentities(name, addresses))
  const tls = () => {
    const { certificatePem: cert, privateKeyPem: key } = keys.identity(nodeServingName(name))
    return { cert, key, clientCa: keys.authority('ca').certificatePem }
  }
  let authorities = [new X509Certificate(keys.authority('ca').certificatePem)]
  const isPublic = options.listen !== 'localhost' && !options.listen.startsWith('127.') && options.listen !== '::1'
  const bridge = bridgeNameOf(options.dataDir)
  const node = await startNode(
    {
      ...{ name, socket, version: kubernetesVersion, addresses: [first], labels: {} },
      client: clientOfNode(running, name),
      configuration: {
        ...defaultKubeletConfiguration(),
        // A cluster for this machine alone is not reached from others, its node agent neither.
        address: isPublic ? '0.0.0.0' : ownNodeHost,
        clusterDomain: 'cluster.local',
        podLogsDir: join(options.dataDir, 'logs', 'pods'),
        serializeImagePulls: false,
      },
      rootDirectory: join(options.dataDir, 'kubelet'),
      serving: { tls: tls(), clientAuthorities: () => authorities, takesAnyPort: true },
      ...(isPrivate ? { podCgroup: podCgroupOf(options.dataDir) } : {}),
      async layNetwork(podCidrs) {
        const network = { name: bridge, bridge, podCidrs, dataDirectory: join(containerdDirectory(options.dataDir), 'addresses') }
        await layBridgeNetwork(network, networks, { files, processes: nodeProcesses })
      },
    },
    { clock, random, logger, files, processes: nodeProcesses, metrics: new Metrics(), http: () => nodeHttpClient() },
  )
  stage.defer(() => node.stop())
  const watch = keys.onChange((changed) => {
    if (changed.includes('ca')) authorities = [new X509Certificate(keys.authority('ca').certificatePem)]
    if (changed.includes('ca') || changed.includes(nodeServingName(name))) node.setTls(tls())
  })
  stage.use(watch)
  return { name, host: ownNodeHost }
}

/** Starts our own containerd where it does not run, now and whenever it is found to have ended; it is left running at the end. */
async function keepContainerd(directory: string, cniConfigDirectory: string, { files, clock, logger }: ClusterSeams) {
  const seams = { files, clock, logger, processes: nodeProcesses }
  const start = () => startContainerd({ directory, sandboxImage: sandboxImageName, cniConfigDirectory }, seams)
  const started = await start()
  let { pid } = started
  let isStarting = false
  const timer = clock.every(aliveCheckMs, async () => {
    if (isStarting || nodeProcesses.isAlive(pid)) return
    isStarting = true
    logger.warn('containerd has ended and is started again', { pid })
    try {
      pid = (await start()).pid
    } catch (error) {
      logger.error('containerd could not be started', { error: String(error) })
    } finally {
      isStarting = false
    }
  })
  return { socket: started.socket, stop: () => timer.cancel() }
}

/** What the node is known by is an address that its pods can reach too, where the machine has one. */
function ownAddresses(listen: string): { addresses: string[]; first: string } {
  const addresses = thisMachine().addresses()
  const isPlace = addresses.includes(listen)
  const first = isPlace ? listen : (addresses.find((address) => !address.includes(':')) ?? addresses[0] ?? '127.0.0.1')
  return { addresses, first }
}
