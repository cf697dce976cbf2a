/** The API server of a cluster in one process, as the options of `up` describe it. */

import { wholeValueOf } from '#api/meta/quantity.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { type RunningApiServer, runApiServer } from '#apiserver/run-api-server.ts'
import { defined } from '#base/defined.ts'
import { grpcChannel } from '#base/grpc.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine } from '#base/machine.ts'
import { listenForPods } from '#cmd/up/api-for-pods.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { ClusterAddresses } from '#cmd/up/cluster-addresses.ts'
import type { LocalNodes } from '#cmd/up/local-nodes.ts'
import type { UpOptions } from '#cmd/up/options.ts'
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
  /** No controller fills in the aggregated cluster roles, so the API server does. */
  aggregatesClusterRoles: boolean
}

/** How long requests that are being served may take when the cluster is stopped. */
const drainMs = 2000

export async function startApiServer(
  stage: Stage,
  { store, keys, options, addresses, nodes, network, extensions, aggregatesClusterRoles }: ApiServerParts,
  { clock, random, files, logger }: ClusterSeams,
): Promise<RunningApiServer> {
  const { kubeletCertificateAuthority: authorityFile } = options
  const authority = authorityFile === '' ? undefined : await files.readText(authorityFile)
  const running = await runApiServer({
    store,
    keys,
    clock,
    random,
    logger: logger.with({ component: 'kube-apiserver' }),
    listen: { host: options.listen, port: options.apiPort },
    alsoListen: network && listenForPods(network, options),
    advertiseAddress: addresses.advertised,
    serviceCidrs: addresses.serviceCidrs,
    nodePortRange: portRange(options.serviceNodePortRange),
    kubernetesServiceIp: addresses.serviceIp,
    featureGates: options.featureGates,
    runtimeConfig: options.runtimeConfig,
    servesLegacyApis: options.legacyApis,
    access: options,
    frontProxy: options,
    enableAggregatorRouting: options.enableAggregatorRouting,
    extensionsInProcess: extensions,
    outside: { files, http: nodeHttpClient, connect: grpcChannel },
    insecurePort: options.insecurePort,
    requests: options,
    memoryLimitBytes: wholeValueOf(options.memoryLimit),
    version: kubernetesVersionInfo(),
    sharesStore: options.store.startsWith('etcd'),
    hostName: thisMachine().hostname,
    nodeConnections: {
      ...defined({ kubeletCertificateAuthority: authority }),
      kubeletPreferredAddressTypes: options.kubeletPreferredAddressTypes,
      ownAuthority: keys.authority('ca').certificatePem,
      hostOf: nodes.hostOf,
      connectNode: nodes.connectNode,
    },
    aggregatesClusterRoles,
  }).catch((error: unknown) => {
    throw explainedListenError(error, options)
  })
  stage.defer(() => running.stop())
  stage.onDrain(async () => {
    // The rest of the time must not keep a process alive that has nothing left to do.
    const isOver = new AbortController()
    await running.drain(clock.sleep(drainMs, isOver.signal).catch(() => {}))
    isOver.abort()
  })
  return running
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
