/** An API server as users start it: keys, identities, permissions, admission, bootstrap objects, and a port. */

import { builtInKinds } from '#api/kinds.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { servingFilter } from '#api/meta/runtime-config.ts'
import { Scheme } from '#api/scheme.ts'
import { openAccess } from '#apiserver/access/access.ts'
import { configInUse, keepEncrypted } from '#apiserver/access/encryption.ts'
import { type FrontProxy, type FrontProxySettings, openFrontProxy, standardFrontProxy } from '#apiserver/access/front-proxy.ts'
import type { AccessSeams, AccessSettings } from '#apiserver/access/settings.ts'
import { admissionPlugins } from '#apiserver/admission/plugins.ts'
import { Aggregator } from '#apiserver/aggregation/aggregator.ts'
import { builtInApiServiceHooks } from '#apiserver/aggregation/built-in-api-services.ts'
import { ClusterIps } from '#apiserver/allocation/cluster-ips.ts'
import { NodePorts } from '#apiserver/allocation/node-ports.ts'
import { keepAllocationsRepaired } from '#apiserver/allocation/repair-allocations.ts'
import { serviceHooks } from '#apiserver/allocation/service-allocation.ts'
import type { AuditBackend, Auditor } from '#apiserver/audit/auditor.ts'
import type { AuditSeams, AuditSettings } from '#apiserver/audit/open-audit.ts'
import { openIdEndpoints } from '#apiserver/authn/service-account/openid-endpoints.ts'
import { standardAuthenticator } from '#apiserver/authn/standard-authenticator.ts'
import { objectPermissionHooks } from '#apiserver/authz/object-permissions/object-permissions.ts'
import { escalationHooks } from '#apiserver/authz/rbac/escalation-hooks.ts'
import { standardAuthorizer } from '#apiserver/authz/standard-authorizer.ts'
import { bootstrap } from '#apiserver/bootstrap/bootstrap.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { checkOf, healthzCheck } from '#apiserver/component-statuses/component-check.ts'
import { type ComponentChecks, componentStatuses } from '#apiserver/component-statuses/component-statuses.ts'
import { defaultLimits, type FairUseLimits } from '#apiserver/fair-use/limits.ts'
import { isFromThisMachine, TrustedExchange, unsecured } from '#apiserver/http/trusted-exchange.ts'
import { overWebSocket } from '#apiserver/http/websocket-exchange.ts'
import { joinedHostPort, type NodeConnectionSettings, NodeConnections } from '#apiserver/node-connections/node-connections.ts'
import { PeerClients } from '#apiserver/peers/peer-clients.ts'
import { PeerProxy } from '#apiserver/peers/peer-proxy.ts'
import type { ServerKeys } from '#apiserver/pki/server-keys.ts'
import { registryHooks } from '#apiserver/registry/registry-hooks.ts'
import { ApiServer } from '#apiserver/server.ts'
import { specialSubresources } from '#apiserver/subresources/special-subresources.ts'
import { virtualResources } from '#apiserver/subresources/virtual-resources.ts'
import { ServiceRoutes } from '#apiserver/webhooks/service-routes.ts'
import { WebhookCalls } from '#apiserver/webhooks/webhook-calls.ts'
import { webhookCredentials } from '#apiserver/webhooks/webhook-credentials.ts'
import { firstServerRoute } from '#apiserver/workers/first-server.ts'
import { listenForWorkers } from '#apiserver/workers/listen-for-workers.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { FlightRecord } from '#base/flight-record.ts'
import { type HttpExchange, type HttpListener, listenHttp } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Random } from '#base/random.ts'
import { nodeUpgradeClient } from '#base/upgrade-client.ts'
import type { Store } from '#store/store.ts'

export type RunApiServerOptions = {
  store: Store
  keys: ServerKeys
  clock: Clock
  random: Random
  logger: Logger
  metrics?: Metrics
  /** Absent: no socket, in-process only. */
  listen?: { host: string; port: number; sharesPort?: 'first' | 'another'; descriptor?: number }
  /** Other threads of this process serve the API beside this one. */
  workers?: { socketPath: string; metricsText(ownText: string): Promise<string> } | undefined
  /** This is such a thread: another one, on this socket, keeps the cluster's own objects and answers what this one cannot. */
  firstServer?: { socketPath: string } | undefined
  /** Of the certificates of other API servers on the same store, in PEM, where it is not the cluster's own. */
  peerAuthority?: string | undefined
  /** How they reach this one, `host:port`, where it is not the advertised address. */
  peerAddress?: string | undefined
  /** In place of those that the settings name. */
  auditBackends?: readonly AuditBackend[] | undefined
  /** Another address to listen on, at the same port, for those alone whose own address is taken. */
  alsoListen?: { host: string; accepts(cluster: ClusterView): (remoteAddress: string) => boolean } | undefined
  advertiseAddress: string
  serviceCidrs: readonly string[]
  nodePortRange: readonly [number, number]
  kubernetesServiceIp: string
  featureGates: readonly string[]
  runtimeConfig: readonly string[]
  servesLegacyApis: boolean
  /** Who gets in, and what for. */
  access: AccessSettings
  /** How files are read and services are reached. */
  outside: Pick<AccessSeams, 'files' | 'http' | 'connect'>
  /** How kubelets are reached; where absent, as upstream does by default. */
  nodeConnections?: NodeConnectionSettings
  /** Proxies in front, and this server in front of others; absent: as upstream's clusters are set up. */
  frontProxy?: FrontProxySettings
  /** `--enable-aggregator-routing`: services are reached by their endpoints, never by another name. */
  enableAggregatorRouting?: boolean
  /** Extension API servers in this process, by the names of their APIServices. */
  extensionsInProcess?: ReadonlyMap<string, (exchange: HttpExchange) => void> | undefined
  /** How the companions of the server are, by name; absent: they are asked at the ports where upstream's listen. */
  components?: ComponentChecks
  /** Serves without TLS and credentials on this port of the loopback address; 0 does not. */
  insecurePort: number
  /** `--enable-bootstrap-token-auth`: bootstrap tokens are accepted unless this says no. */
  enableBootstrapTokenAuth?: boolean
  /** `--event-ttl` in seconds; absent: an hour. */
  eventTtlSeconds?: number
  /** Absent: nothing is put on record, and nobody waits. */
  requests?: RequestSettings
  version: Readonly<Record<string, string>>
  /** Keeps view, edit and admin filled in when no controller manager does. */
  aggregatesClusterRoles: boolean
  /** Other API servers use the same store. */
  sharesStore: boolean
  /** Of this machine; absent: this server does not say that it is there. */
  hostName?: string
  /** New work is refused when the process has nearly so much; 0 or absent: near the limit of its heap. */
  memoryLimitBytes?: number
  /** What a client may ask for; absent: as `fair-use.ts` has it. */
  fairUse?: FairUseLimits
  /** Where it is noted what is being served, for those who find the process gone. */
  flightRecord?: Pick<FlightRecord, 'note'> | undefined
}

/** Whether requests are put on record, and how many may run at once. */
export type RequestSettings = AuditSettings & {
  /** In milliseconds: how long a request may take that is not long-running. */
  requestTimeout: number
  enablePriorityAndFairness: boolean
  maxRequestsInflight: number
  maxMutatingRequestsInflight: number
}

export type RunningApiServer = {
  readonly server: ApiServer
  readonly listener: HttpListener | undefined
  readonly auditor: Auditor | undefined
  drain(deadline: Promise<void>): Promise<void>
  stop(): Promise<void>
}

function servedBy({ runtimeConfig, servesLegacyApis }: RunApiServerOptions, isEnabled: (gate: string) => boolean) {
  try {
    const knownGroups = new Set(builtInKinds.map(({ group }) => group))
    return servingFilter({ isEnabled, runtimeConfig: runtimeConfig.join(','), legacyApis: servesLegacyApis, knownGroups })
  } catch (error) {
    throw new Error(`--runtime-config: ${errorMessage(error)}; allowed are GROUP/VERSION=true, api/all=false and their like`)
  }
}

export async function runApiServer(options: RunApiServerOptions): Promise<RunningApiServer> {
  const { store, keys, clock, random, logger } = options
  const gates = new FeatureGates(options.featureGates.join(','))
  const isEnabled = (gate: string) => gates.isEnabled(gate)
  const isServed = servedBy(options, isEnabled)
  const scheme = new Scheme(builtInKinds.filter(isServed))
  const nodePorts = new NodePorts(store, random, options.nodePortRange)
  await using opened = new AsyncDisposableStack()
  const access = opened.use(await openAccess(options.access, keys, { ...options.outside, clock, random, logger }))
  const { serviceAccounts, encryption } = access
  const frontProxy = await openFrontProxy(options.frontProxy ?? standardFrontProxy, keys, options.outside.files)
  const authorizer = standardAuthorizer(access.authorizers.chosen)
  access.authorizers.onChange(authorizer.use)
  const { requests, metrics = new Metrics() } = options
  if (encryption) metrics.measured(configInUse, 'Configuration of encryption that is in use.', () => [[{ hash: encryption.hash }, 1]])
  const auditor = requests && (await auditorFor(requests, { ...options.outside, clock, logger, metrics }, options.auditBackends))
  if (auditor) opened.defer(() => auditor.close())
  const nodes = opened.use(
    new NodeConnections({
      cluster: () => server.cluster,
      identity: () => keys.identity('apiserver-kubelet-client'),
      makeClient: nodeUpgradeClient,
      settings: options.nodeConnections ?? {},
    }),
  )
  let port = options.listen?.port ?? 0
  const routes = opened.use(
    new ServiceRoutes({
      cluster: () => server.cluster,
      random,
      endpointsOnly: options.enableAggregatorRouting ?? false,
      isSimulated: (nodeName) => options.nodeConnections?.connectNode?.(nodeName) !== undefined,
      ownAddress: () => joinedHostPort(reachableHost(options.listen?.host ?? ''), String(port)),
    }),
  )
  const webhooks = opened.use(new WebhookCalls({ clock, makeClient: options.outside.http, hostOf: (service) => routes.hostOf(service) }))
  const aggregator = opened.use(
    new Aggregator({
      makeClient: nodeUpgradeClient,
      identity: frontProxy.identity,
      routes,
      clock,
      logger,
      metrics,
      inProcess: options.extensionsInProcess,
    }),
  )
  const firstServer = options.firstServer && opened.use(nodeUpgradeClient({ socketPath: options.firstServer.socketPath }))
  const peerClients = new PeerClients({
    makeClient: nodeUpgradeClient,
    ca: () => options.peerAuthority ?? keys.authority('ca').certificatePem,
    identity: frontProxy.identity,
  })
  opened.use(peerClients)
  // Alone on a store nobody knows more; a worker asks the first server, which asks others.
  const hasPeers = options.sharesStore && firstServer === undefined && isEnabled('UnknownVersionInteroperabilityProxy')
  const ownHost = () => joinedHostPort(options.advertiseAddress, String(port))
  const peers = new PeerProxy({ cluster: () => server.cluster, ownHost, backendOf: peerClients.backendOf, clock, logger })
  const server: ApiServer = new ApiServer({
    aggregator,
    peers: hasPeers ? peers : undefined,
    firstServer: firstServer && firstServerRoute(firstServer),
    metricsText: options.workers && (() => options.workers?.metricsText(metrics.text()) ?? Promise.resolve('')),
    store,
    clock,
    random,
    logger,
    metrics,
    auditor,
    flowControl: requests?.enablePriorityAndFairness
      ? // Nobody waits for longer than a quarter of what a request may take altogether.
        { serverSeats: requests.maxRequestsInflight + requests.maxMutatingRequestsInflight, waitLimitMs: requests.requestTimeout / 4 }
      : undefined,
    ...defined({ requestTimeoutMs: requests?.requestTimeout }),
    scheme,
    isEnabled,
    webhooks,
    authenticator: (cluster) =>
      standardAuthenticator({
        ...{ keys, clock, logger, cluster, serviceAccounts, frontProxy, more: access.authenticators },
        acceptsBootstrapTokens: options.enableBootstrapTokenAuth,
      }),
    authorizer: () => authorizer,
    admissionPlugins: (cluster, authorizer) =>
      admissionPlugins(
        { enable: options.access.enableAdmissionPlugins, disable: options.access.disableAdmissionPlugins, configurations: access.plugins },
        {
          cluster,
          authorizer,
          clock,
          random,
          logger,
          metrics,
          isEnabled,
          configuration: undefined,
          reviewWebhook: access.reviewWebhook,
          webhooks,
          webhookCredentials: (path) => webhookCredentials(options.outside.files, path),
        },
      ),
    hooks: (registries) =>
      new Map([
        ...registryHooks(serviceHooks(new ClusterIps(registries, random, options.serviceCidrs), nodePorts)),
        ...builtInApiServiceHooks(registries),
        ...escalationHooks(authorizer.rbac, authorizer),
        ...objectPermissionHooks({ authorizer, cluster: registries.view(), isEnabled }),
      ]),
    specialSubresources: (parts) => specialSubresources(parts, { serviceAccounts, clock, random, nodes, isEnabled }),
    virtualResources: (parts) => {
      const storeCheck = checkOf(async () => parts.storeTrouble() ?? (await options.store.alarm?.()))
      const components = { ...componentChecks(options), 'etcd-0': storeCheck }
      return virtualResources(parts, { clock, audiences: serviceAccounts.audiences }).set(
        'GET /componentstatuses',
        componentStatuses(components, parts.services),
      )
    },
    paths: () => openIdEndpoints(serviceAccounts, () => `${options.advertiseAddress || '127.0.0.1'}:${port}`, logger),
    ...defined({
      transformer: encryption && ((group: string, plural: string) => encryption.transformerFor(group, plural)),
      memoryLimitBytes: options.memoryLimitBytes,
      fairUse: options.fairUse,
    }),
    flightRecord: options.flightRecord,
    version: options.version,
    serverAddress: () => `${options.advertiseAddress}:${port}`,
    ttlSeconds: { '/events': options.eventTtlSeconds ?? 3600 },
  })
  opened.defer(() => server.stop())
  await server.start()
  opened.use(authorizer.follow(server.cluster))
  if (firstServer === undefined) {
    aggregator.follow(server.cluster)
    const clusterIps = new ClusterIps(server.registries, random, options.serviceCidrs)
    opened.use(await keepAllocationsRepaired({ ...options, cluster: server.cluster, clusterIps, nodePorts }))
  }
  const serving = {
    logger,
    tls: tlsMaterial(keys, frontProxy),
    maxConnectionsPerAddress: (options.fairUse ?? defaultLimits).connectionsPerClient,
    onExchange: (exchange: HttpExchange) => server.handler.handle(overWebSocket(exchange)),
  }
  const listener = options.listen && (await listenHttp({ ...options.listen, ...serving }))
  port = listener?.port ?? 0
  if (listener) opened.defer(() => listener.close())
  const { alsoListen } = options
  const accepts = alsoListen?.accepts(server.cluster)
  const second = listener && alsoListen && (await listenHttp({ host: alsoListen.host, port, ...defined({ accepts }), ...serving }))
  if (second) opened.defer(() => second.close())
  if (options.workers !== undefined) {
    const forWorkers = await listenForWorkers(options.workers.socketPath, (exchange) => server.workersHandler.handle(exchange))
    opened.defer(() => forWorkers.close())
  }
  if (options.insecurePort > 0) {
    const insecure = await listenInsecurely(options.insecurePort, server)
    opened.defer(() => insecure.close())
  }
  opened.use(
    keys.onChange((changed) => {
      listener?.setTls(tlsMaterial(keys, frontProxy))
      second?.setTls(tlsMaterial(keys, frontProxy))
      if (changed.includes('apiserver-kubelet-client')) nodes?.forgetIdentity()
      if (changed.includes('front-proxy-client')) aggregator.forgetIdentity()
      if (changed.includes('front-proxy-client') || changed.includes('ca')) peerClients.forget()
    }),
  )
  if (firstServer === undefined) {
    const background = await bootstrap(server, {
      ...options,
      ...{ isEnabled, frontProxy, securePort: port },
      onAddresses: (addresses) => peers.know(addresses),
      clientCa: () => keys.authority('ca').certificatePem,
    })
    opened.use(background)
    if (encryption !== undefined) opened.use(keepEncrypted(server, encryption, store, { logger, metrics }))
  } else {
    server.boot.isDone()
  }
  server.registries.forgetHistory()
  const running = opened.move()
  return {
    server,
    listener,
    auditor,
    async drain(deadline) {
      server.drain()
      await Promise.all([listener?.drain(deadline), second?.drain(deadline)])
    },
    async stop() {
      await idleFor(server, clock)
      await running.disposeAsync()
      // What it was still doing by itself.
      await idleFor(server, clock)
    },
  }
}

const controllerManagerPort = 10_257
const schedulerPort = 10_259

function componentChecks({ components, outside: { http }, clock }: RunApiServerOptions): ComponentChecks {
  return {
    'controller-manager': healthzCheck(controllerManagerPort, { http, clock }),
    scheduler: healthzCheck(schedulerPort, { http, clock }),
    ...components,
  }
}

/** How long requests that are under way may take when there is to be an end. */
const lastRequestsMs = 1000

/** Whoever is being answered needs the store, which is closed next. */
async function idleFor({ handler, workersHandler }: ApiServer, clock: Clock): Promise<void> {
  const isOver = new AbortController()
  const deadline = clock.sleep(lastRequestsMs, isOver.signal).catch(() => {})
  await Promise.race([Promise.all([handler.idle(), workersHandler.idle()]), deadline])
  isOver.abort()
}

/** Whoever listens everywhere is reached here. */
function reachableHost(listening: string): string {
  if (listening === '0.0.0.0' || listening === '') return '127.0.0.1'
  return listening === '::' ? '::1' : listening
}

/** Loaded where it is asked for, which is seldom. */
async function auditorFor(
  settings: AuditSettings,
  seams: AuditSeams,
  backends: readonly AuditBackend[] | undefined,
): Promise<Auditor | undefined> {
  if (settings.auditPolicyFile === '' && settings.auditLogPath === '' && settings.auditWebhookConfigFile === '') return undefined
  const { openAudit } = await import('#apiserver/audit/open-audit.ts')
  return openAudit(settings, seams, backends)
}

/** As upstream's insecure port was: no TLS, no credentials, all power; hence for this machine alone. */
function listenInsecurely(port: number, server: ApiServer): Promise<HttpListener> {
  return listenHttp({
    host: '127.0.0.1',
    port,
    onExchange(exchange) {
      if (isFromThisMachine(exchange)) server.handler.handle(overWebSocket(new TrustedExchange(exchange, unsecured)))
      else exchange.respond(403, { 'content-type': 'text/plain' }, 'Forbidden\n')
    },
  })
}

function tlsMaterial(keys: ServerKeys, frontProxy: FrontProxy) {
  const { certificatePem, privateKeyPem } = keys.identity('apiserver')
  const clientCa = [keys.authority('ca').certificatePem, frontProxy.authority()].filter((pem) => pem !== '')
  // Nobody is asked for a certificate that would not be believed.
  return { cert: certificatePem, key: privateKeyPem, ...omitEmpty({ clientCa }) }
}
