/** The API server of a cluster in one process, as the options of `up` describe it. */

import { celBudgets } from '#api/cel/cost-budgets.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import type { ComponentChecks } from '#apiserver/component-statuses/component-statuses.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import type { ServerKeys } from '#apiserver/pki/server-keys.ts'
import { type RunApiServerOptions, type RunningApiServer, runApiServer } from '#apiserver/run-api-server.ts'
import { defined } from '#base/defined.ts'
import { openFlightRecord } from '#base/flight-record.ts'
import { grpcChannel } from '#base/grpc.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine } from '#base/machine.ts'
import type { SocketAddress } from '#base/sockets.ts'
import { servingPath } from '#cmd/running/crash-reports.ts'
import { listenForPods } from '#cmd/up/api-for-pods.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { ClusterAddresses } from '#cmd/up/cluster-addresses.ts'
import type { LocalNodes } from '#cmd/up/local-nodes.ts'
import { fairUseLimits } from '#cmd/up/options/fair-use.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { isOwnEncryption } from '#cmd/up/own-encryption.ts'
import { kubernetesVersionInfo } from '#cmd/version.ts'
import type { NodeNetwork } from '#network/node-network.ts'
import type { Store } from '#store/store.ts'

export type ApiServerParts = {
  store: Store
  keys: ClusterKeys
  options: UpOptions
  addresses: ClusterAddresses
  nodes: LocalNodes
  /** Of the real nodes on this machine; where present, the API is served there too. */
  network: NodeNetwork | undefined
  /** Extension API servers in this process, by the names of their APIServices. */
  extensions: ReadonlyMap<string, (exchange: HttpExchange) => void>
  /** How the other components in this process are, by name. */
  components: ComponentChecks
  /** No controller fills in the aggregated cluster roles, so the API server does. */
  aggregatesClusterRoles: boolean
}

/** What all API servers of the process are told alike. */
export type SharedApiServerParts = { store: Store; keys: ServerKeys; options: UpOptions; addresses: ClusterAddresses }

/** How long requests that are being served may take when the cluster is stopped. */
const drainMs = 2000

export async function startApiServer(
  stage: Stage,
  { store, keys, options, addresses, nodes, network, extensions, components, aggregatesClusterRoles }: ApiServerParts,
  seams: ClusterSeams,
): Promise<RunningApiServer> {
  const { clock } = seams
  const workers = options.apiWorkers > 1 ? await prepareWorkers({ store, keys, options, addresses }, seams) : undefined
  const shared = await sharedApiServerOptions({ store, keys, options, addresses }, seams)
  const place = { host: options.listen, port: options.apiPort }
  const running = await runApiServer({
    ...shared,
    listen: {
      ...place,
      ...(workers === undefined ? {} : { sharesPort: 'first' }),
      ...defined({ descriptor: await listenOnMachine(place, options, seams) }),
    },
    alsoListen: network && listenForPods(network, options),
    flightRecord: stage.use(openFlightRecord(servingPath(options.dataDir))),
    workers,
    extensionsInProcess: extensions,
    components,
    insecurePort: options.insecurePort,
    hostName: thisMachine().hostname,
    nodeConnections: { ...shared.nodeConnections, hostOf: nodes.hostOf, connectNode: nodes.connectNode },
    aggregatesClusterRoles,
  }).catch((error: unknown) => {
    throw explainedListenError(error, options)
  })
  stage.defer(() => running.stop())
  if (workers !== undefined) {
    stage.defer(() => workers.stop())
    await workers.start({ port: running.listener?.port ?? options.apiPort, keepAuditEvent: (event) => running.auditor?.keep(event) })
  }
  stage.onDrain(async () => {
    // The rest of the time must not keep a process alive that has nothing left to do.
    const isOver = new AbortController()
    const deadline = clock.sleep(drainMs, isOver.signal).catch(() => {})
    await Promise.all([running.drain(deadline), workers?.drain(deadline)])
    isOver.abort()
  })
  return running
}

/** Users are in the machine's network, wherever we are. */
async function listenOnMachine(place: SocketAddress, options: UpOptions, { machineNetwork }: ClusterSeams): Promise<number | undefined> {
  return machineNetwork?.listen(place).catch((error: unknown) => {
    throw explainedListenError(error, options)
  })
}

/** Loaded where they are asked for, which is seldom. */
async function prepareWorkers(parts: SharedApiServerParts, seams: ClusterSeams) {
  const { ApiWorkers } = await import('#cmd/up/api-workers/api-workers.ts')
  const workers = new ApiWorkers(parts, seams)
  await workers.prepare()
  return workers
}

export async function sharedApiServerOptions(
  { store, keys, options, addresses }: SharedApiServerParts,
  { clock, random, files, logger }: ClusterSeams,
): Promise<RunApiServerOptions> {
  const { kubeletCertificateAuthority: authorityFile, apiWorkers } = options
  const authority = authorityFile === '' ? undefined : await files.readText(authorityFile)
  Object.assign(celBudgets, { perCall: options.celCallBudget, perRequest: options.celRequestBudget })
  return {
    store,
    keys,
    clock,
    random,
    logger: logger.with({ component: 'kube-apiserver' }),
    advertiseAddress: addresses.advertised,
    serviceCidrs: addresses.serviceCidrs,
    nodePortRange: portRange(options.serviceNodePortRange),
    kubernetesServiceIp: addresses.serviceIp,
    featureGates: options.featureGates,
    runtimeConfig: options.runtimeConfig,
    servesLegacyApis: options.legacyApis,
    access: {
      ...(options.verticalPodAutoscaler ? withPlugin(options, 'VerticalPodAutoscaler') : options),
      ...(isOwnEncryption(options) ? { encryptionProviderConfigAutomaticReload: 'keys' } : {}),
    },
    frontProxy: options,
    enableAggregatorRouting: options.enableAggregatorRouting,
    outside: { files, http: nodeHttpClient, connect: grpcChannel },
    insecurePort: 0,
    // Each thread gives out its part of the seats.
    requests: {
      ...options,
      maxRequestsInflight: Math.ceil(options.maxRequestsInflight / apiWorkers),
      maxMutatingRequestsInflight: Math.ceil(options.maxMutatingRequestsInflight / apiWorkers),
    },
    memoryLimitBytes: wholeValueOf(options.memoryLimit),
    fairUse: fairUseLimits(options, wholeValueOf),
    version: kubernetesVersionInfo(),
    sharesStore: options.store.startsWith('etcd'),
    nodeConnections: {
      ...defined({ kubeletCertificateAuthority: authority }),
      kubeletPreferredAddressTypes: options.kubeletPreferredAddressTypes,
      ownAuthority: keys.authority('ca').certificatePem,
    },
    aggregatesClusterRoles: false,
  }
}

/** Unless somebody does not want it. */
function withPlugin(options: UpOptions, plugin: string): UpOptions {
  const { enableAdmissionPlugins: enabled, disableAdmissionPlugins: disabled } = options
  if (enabled.includes(plugin) || disabled.includes(plugin)) return options
  return { ...options, enableAdmissionPlugins: [...enabled, plugin] }
}

/** Where it is reached from this machine. */
export function apiServerUrl({ listen, apiPort }: UpOptions, { listener }: RunningApiServer): string {
  return `https://${urlHost(listen)}:${listener?.port ?? apiPort}`
}

/** Where nodes in network namespaces of their own reach it. */
export function urlForNodes({ advertised }: ClusterAddresses, { address }: NodeNetwork, { listener }: RunningApiServer): string {
  return `https://${urlHost(advertised || address)}:${listener?.port ?? 0}`
}

function urlHost(listen: string): string {
  if (listen === '0.0.0.0') return '127.0.0.1'
  if (listen === '::') return '[::1]'
  return listen.includes(':') ? `[${listen}]` : listen
}

function portRange(text: string): readonly [number, number] {
  const match = /^(\d+)-(\d+)$/.exec(text)
  if (match?.[1] === undefined || match[2] === undefined)
    throw new Error(`--service-node-port-range: ${text} is not a valid range such as 30000-32767`)
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
