/** An API server as users start it: keys, identities, permissions, admission, bootstrap objects, and a port. */

import type { V1Service } from '#api/core/v1/types.gen.ts'
import { builtInKinds } from '#api/kinds.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { admissionPlugins } from '#apiserver/admission/plugins.ts'
import { ClusterIps } from '#apiserver/allocation/cluster-ips.ts'
import { NodePorts } from '#apiserver/allocation/node-ports.ts'
import { needsHealthPort, nodePortsOf, serviceHooks } from '#apiserver/allocation/service-allocation.ts'
import { standardAuthenticator } from '#apiserver/authn/standard-authenticator.ts'
import { escalationHooks } from '#apiserver/authz/rbac/escalation-hooks.ts'
import { standardAuthorizer } from '#apiserver/authz/standard-authorizer.ts'
import { bootstrap } from '#apiserver/bootstrap/bootstrap.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import { registryHooks } from '#apiserver/registry/registry-hooks.ts'
import { servedKinds } from '#apiserver/served-kinds.ts'
import { ApiServer } from '#apiserver/server.ts'
import { specialSubresources } from '#apiserver/subresources/special-subresources.ts'
import { virtualResources } from '#apiserver/subresources/virtual-resources.ts'
import type { Clock } from '#base/clock.ts'
import { type HttpListener, listenHttp } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

export type RunApiServerOptions = {
  store: Store
  keys: ClusterKeys
  clock: Clock
  random: Random
  logger: Logger
  metrics?: Metrics
  /** Absent: no socket, in-process only. */
  listen?: { host: string; port: number }
  advertiseAddress: string
  serviceCidrs: readonly string[]
  nodePortRange: readonly [number, number]
  kubernetesServiceIp: string
  /** A token of the user admin in system:masters, for tests. */
  token?: string
  featureGates: readonly string[]
  runtimeConfig: readonly string[]
  servesLegacyApis: boolean
  enableAdmissionPlugins: readonly string[]
  disableAdmissionPlugins: readonly string[]
  authorizationModes: readonly string[]
  allowsAnonymous: boolean
  version: Readonly<Record<string, string>>
  /** Keeps view, edit and admin filled in when no controller manager does. */
  aggregatesClusterRoles: boolean
}

export type RunningApiServer = {
  readonly server: ApiServer
  readonly listener: HttpListener | undefined
  readonly definitions: readonly ResourceDefinition[]
  drain(deadline: Promise<void>): Promise<void>
  stop(): Promise<void>
}

export async function runApiServer(options: RunApiServerOptions): Promise<RunningApiServer> {
  const { store, keys, clock, random, logger } = options
  const gates = new FeatureGates(options.featureGates.join(','))
  const isEnabled = (gate: string) => gates.isEnabled(gate)
  const definitions = servedKinds(builtInKinds, { ...options, isEnabled })
  const nodePorts = new NodePorts(store, random, options.nodePortRange)
  const authorizer = standardAuthorizer(options)
  let port = options.listen?.port ?? 0
  const server: ApiServer = new ApiServer({
    store,
    clock,
    random,
    logger,
    metrics: options.metrics ?? new Metrics(),
    definitions,
    isEnabled,
    authenticator: (cluster) => standardAuthenticator({ ...options, cluster }),
    authorizer: () => authorizer,
    admissionPlugins: (cluster, authorizer) =>
      admissionPlugins(
        { enable: options.enableAdmissionPlugins, disable: options.disableAdmissionPlugins },
        { cluster, authorizer, clock, random, logger, isEnabled, configuration: undefined },
      ),
    hooks: (registries) =>
      new Map([
        ...registryHooks(serviceHooks(new ClusterIps(registries, random, options.serviceCidrs), nodePorts)),
        ...escalationHooks(authorizer.rbac, authorizer),
      ]),
    specialSubresources: (parts) => specialSubresources(parts, options),
    virtualResources: (parts) => virtualResources(parts, options),
    version: options.version,
    serverAddress: () => `${options.advertiseAddress}:${port}`,
    ttlSeconds: { '/events': 3600 },
  })
  await server.start()
  const following = authorizer.follow(server.cluster)
  await nodePorts.start(usedNodePorts(server))
  const listener = options.listen && (await listenHttp({ ...options.listen, tls: tlsMaterial(keys), onExchange: server.handler.handle }))
  port = listener?.port ?? 0
  const reload = keys.onChange(() => listener?.setTls(tlsMaterial(keys)))
  const background = await bootstrap(server, {
    ...options,
    securePort: port,
    clientCa: keys.authority('ca').certificatePem,
    requestHeaderCa: keys.authority('front-proxy-ca').certificatePem,
  })
  server.registries.forgetHistory()
  return {
    server,
    listener,
    definitions,
    async drain(deadline) {
      await listener?.drain(deadline)
    },
    async stop() {
      reload[Symbol.dispose]()
      following[Symbol.dispose]()
      background[Symbol.dispose]()
      server.stop()
      await listener?.close()
    },
  }
}

function usedNodePorts(server: ApiServer): Set<number> {
  const services = server.cluster.list('', 'services') as V1Service[]
  return new Set(
    services.flatMap((service) => [...nodePortsOf(service), ...(needsHealthPort(service) ? [service.spec.healthCheckNodePort ?? 0] : [])]),
  )
}

function tlsMaterial(keys: ClusterKeys) {
  const { certificatePem, privateKeyPem } = keys.identity('apiserver')
  const clientCa = [keys.authority('ca').certificatePem, keys.authority('front-proxy-ca').certificatePem]
  return { cert: certificatePem, key: privateKeyPem, clientCa }
}
