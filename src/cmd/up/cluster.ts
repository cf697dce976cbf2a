/** The parts of a cluster in one process, in the order in which they start. */
import { delimiter, join } from 'node:path'
import { firstAddress, parseRange } from '#apiserver/allocation/ip-range.ts'
import type { NodeConnectionSettings } from '#apiserver/node-connections/node-connections.ts'
import { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { clusterIdentities, storeIdentities } from '#apiserver/pki/identities.ts'
import { openKeyDirectory } from '#apiserver/pki/key-directory.ts'
import { type KubeconfigEntry, mergeKubeconfig, writeKubeconfig } from '#apiserver/pki/kubeconfig.ts'
import { type RunningApiServer, runApiServer } from '#apiserver/run-api-server.ts'
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { grpcChannel } from '#base/grpc.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { Lifecycle } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { Random } from '#base/random.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { kubernetesVersionInfo } from '#cmd/version.ts'
import type { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import type { SimulatedNodes } from '#kubelet/node/simulated-nodes.ts'
import type { RunningNode } from '#kubelet/run-node.ts'
import type { Store } from '#store/store.ts'

/** Where the agent of the cluster's own node is reached by the API server beside it. */
export const ownNodeHost = '127.0.0.1'

export type ClusterSeams = { clock: Clock; random: Random; files: Files; logger: Logger }

export type Cluster = { readonly kubeconfigPath: string; url(): string; apiServer(): RunningApiServer }

/** Parts that are not asked for are not loaded. `opening` is the store, which may be on its way already. */
export async function addClusterComponents(
  lifecycle: Lifecycle,
  options: UpOptions,
  seams: ClusterSeams,
  opening: Promise<Store>,
): Promise<Cluster> {
  const { clock, random, files, logger } = seams
  const kubeconfigPath = options.kubeconfig || join(options.dataDir, 'admin.kubeconfig')
  const cidrs = options.serviceClusterIpRange.split(',')
  const serviceIp = firstAddress(parseRange(cidrs[0] ?? ''))
  let store: Store | undefined
  let keys: ClusterKeys | undefined
  let running: RunningApiServer | undefined
  let manager: ControllerManager | undefined
  let scheduler: { stop(): Promise<void> } | undefined
  let nodes: SimulatedNodes | undefined
  let connectSimulatedNode: NodeConnectionSettings['connectNode']
  let node: RunningNode | undefined
  let ownNode: string | undefined
  const selected = options.controllers.length === 0 ? [] : (await import('#cmd/up/controllers.ts')).selectedControllers(options)
  const url = () => `https://${urlHost(options.listen)}:${running?.listener?.port ?? options.apiPort}`

  lifecycle.add({
    name: 'store',
    async start() {
      store = await opening
    },
    stop: async () => store?.close(),
  })
  lifecycle.add({
    name: 'keys',
    async start() {
      const directory = await openKeyDirectory(files, join(options.dataDir, 'pki'))
      const machine = thisMachine()
      const addresses = options.listen === '0.0.0.0' || options.listen === '::' ? machine.addresses() : [options.listen]
      keys = await ClusterKeys.open(
        { directory, clock, random, log: logger },
        clusterIdentities({ hostName: machine.hostname, serviceIp, clusterDomain: 'cluster.local', addresses }),
      )
    },
    stop: async () => keys?.[Symbol.dispose](),
  })
  if (options.etcdListen !== '') {
    let face: { close(): Promise<void> } | undefined
    lifecycle.add({
      name: 'etcd face',
      async start() {
        if (store === undefined || keys === undefined) throw new Error('the store and the keys come first')
        const { EtcdFace } = await import('#store/etcd-face/etcd-face.ts')
        const host = options.etcdListen.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
        await keys.add(storeIdentities([host === '0.0.0.0' || host === '::' ? '' : host, ...thisMachine().addresses()]))
        const { certificatePem: certificate, privateKeyPem: key } = keys.identity('etcd-server')
        const tls = { authority: keys.authority('etcd-ca').certificatePem, certificate, key }
        face = await EtcdFace.start({ store, address: options.etcdListen, tls, logger })
      },
      stop: async () => face?.close(),
    })
  }
  lifecycle.add({
    name: 'apiserver',
    async start() {
      if (store === undefined || keys === undefined) throw new Error('the store and the keys come first')
      const { kubeletCertificateAuthority: authorityFile } = options
      const authority = authorityFile === '' ? undefined : await files.readText(authorityFile)
      running = await runApiServer({
        store,
        keys,
        clock,
        random,
        logger,
        listen: { host: options.listen, port: options.apiPort },
        advertiseAddress: advertised(options.listen),
        serviceCidrs: cidrs,
        nodePortRange: portRange(options.serviceNodePortRange),
        kubernetesServiceIp: serviceIp,
        featureGates: options.featureGates,
        runtimeConfig: options.runtimeConfig,
        servesLegacyApis: options.legacyApis,
        access: options,
        outside: { files, http: nodeHttpClient, connect: grpcChannel },
        insecurePort: options.insecurePort,
        requests: options,
        version: kubernetesVersionInfo(),
        sharesStore: options.store.startsWith('etcd'),
        hostName: thisMachine().hostname,
        nodeConnections: {
          ...(authority === undefined ? {} : { kubeletCertificateAuthority: authority }),
          kubeletPreferredAddressTypes: options.kubeletPreferredAddressTypes,
          ownAuthority: keys.authority('ca').certificatePem,
          // The agent of the cluster's own node listens where the API server does.
          hostOf: (name) => (name === ownNode ? ownNodeHost : undefined),
          connectNode: (name) => connectSimulatedNode?.(name),
        },
        aggregatesClusterRoles: !selected.some(({ alias }) => alias === 'clusterrole-aggregation'),
      }).catch((error: unknown) => {
        throw explainedListenError(error, options)
      })
      const issued = keys
      const write = async () => {
        const entry: KubeconfigEntry = {
          name: 'typernetes',
          server: url(),
          authorityPem: issued.authority('ca').certificatePem,
          credential: issued.identity('admin'),
        }
        await writeKubeconfig(files, kubeconfigPath, entry)
        if (options.mergeKubeconfig) await mergeKubeconfig(files, ownKubeconfigPath(), entry)
      }
      await write()
      issued.onChange((changed) => {
        if (!changed.includes('admin') && !changed.includes('ca')) return
        write().catch((error: unknown) =>
          logger.error('the renewed kubeconfig could not be written', { path: kubeconfigPath, error: String(error) }),
        )
      })
    },
    async drain() {
      // The rest of the time must not keep a process alive that has nothing left to do.
      const isOver = new AbortController()
      await running?.drain(clock.sleep(2000, isOver.signal).catch(() => {}))
      isOver.abort()
    },
    stop: async () => running?.stop(),
  })
  if (selected.length > 0) {
    lifecycle.add({
      name: 'controllers',
      async start(signal) {
        if (running === undefined || keys === undefined) throw new Error('the API server comes first')
        const { startControllers } = await import('#cmd/up/controllers.ts')
        manager = await startControllers(running, options, keys, seams, signal)
      },
      stop: async () => manager?.stop(),
    })
  }
  if (options.scheduler) {
    lifecycle.add({
      name: 'scheduler',
      async start(signal) {
        if (running === undefined) throw new Error('the API server comes first')
        const { startScheduler } = await import('#cmd/up/scheduler.ts')
        scheduler = await startScheduler(running, seams, signal)
      },
      stop: async () => scheduler?.stop(),
    })
  }
  const count = options.simNodes + (options.runtime === 'sim' ? options.nodes : 0)
  if (count > 0) {
    lifecycle.add({
      name: 'nodes',
      async start(signal) {
        if (running === undefined) throw new Error('the API server comes first')
        const clearsNotReadyTaint = !selected.some(({ alias }) => alias === 'nodelifecycle')
        const { simulatedNodeServers, startSimulatedNodes } = await import('#cmd/up/nodes.ts')
        nodes = await startSimulatedNodes(running, { count, clearsNotReadyTaint }, seams, signal)
        connectSimulatedNode = simulatedNodeServers(running, nodes, seams)
      },
      stop: async () => nodes?.stop(),
    })
  }
  if (!['sim', 'none'].includes(options.runtime) && options.nodes > 0) {
    lifecycle.add({
      name: 'node',
      async start() {
        if (running === undefined || keys === undefined) throw new Error('the API server comes first')
        const { chooseRuntime } = await import('#cmd/up/container-runtime.ts')
        const choice = await chooseRuntime(options, { files })
        if (choice.kind === 'none') {
          logger.info(`the cluster has no real node; --sim-nodes adds simulated ones: ${choice.why}`)
          return
        }
        const { startRealNode, ownNodeName } = await import('#cmd/up/real-node.ts')
        node = await startRealNode(running, keys, options, choice, seams)
        ownNode = ownNodeName()
      },
      stop: async () => node?.stop(),
    })
  }
  return {
    kubeconfigPath,
    url,
    apiServer() {
      if (running === undefined) throw new Error('the API server has not started')
      return running
    },
  }
}

/** Where kubectl looks. */
function ownKubeconfigPath(): string {
  const first = (thisProcess.environment['KUBECONFIG'] ?? '').split(delimiter).find((path) => path !== '')
  return first ?? join(thisMachine().homeDirectory, '.kube', 'config')
}

function urlHost(listen: string): string {
  if (listen === '0.0.0.0') return '127.0.0.1'
  if (listen === '::') return '[::1]'
  return listen.includes(':') ? `[${listen}]` : listen
}

/** What pods are told to call: an address of this machine, since a loopback address means something else to each of them. */
function advertised(listen: string): string {
  const isPlace = listen !== '0.0.0.0' && listen !== '::' && listen !== '::1' && !listen.startsWith('127.')
  return isPlace ? listen : (thisMachine().addresses()[0] ?? '')
}

function portRange(text: string): readonly [number, number] {
  const match = /^(\d+)-(\d+)$/.exec(text)
  if (match?.[1] === undefined || match[2] === undefined)
    throw new Error(`--service-node-port-range: ${text} is no range such as 30000-32767`)
  return [Number(match[1]), Number(match[2])]
}

function explainedListenError(error: unknown, { listen, apiPort }: UpOptions): unknown {
  if (error instanceof Error && 'code' in error) {
    if (error.code === 'EADDRINUSE')
      return new Error(`port ${apiPort} on ${listen} is in use; stop what listens there, or choose another with --api-port`)
    if (error.code === 'EACCES') return new Error(`port ${apiPort} may not be used by this user; choose one above 1023 with --api-port`)
    if (error.code === 'EADDRNOTAVAIL') return new Error(`this machine has no address ${listen}; choose another with --listen`)
  }
  return error
}
