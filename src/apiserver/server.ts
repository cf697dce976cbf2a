/** The API server: everything it is made of, put together. */

import { canonicalize } from '#api/codec/json.ts'
import { jsonText } from '#api/codec/json-text.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { Scheme } from '#api/scheme.ts'
import { AdmissionChain, type AdmissionPlugin } from '#apiserver/admission/admission.ts'
import type { Aggregator } from '#apiserver/aggregation/aggregator.ts'
import type { Auditor } from '#apiserver/audit/auditor.ts'
import type { Authenticator } from '#apiserver/authn/authenticator.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { CustomDefinitions } from '#apiserver/custom-resources/custom-definitions.ts'
import { definitionHooks } from '#apiserver/custom-resources/definition-hooks.ts'
import { untypedStorage } from '#apiserver/custom-resources/untyped-storage.ts'
import { DiscoveredGroups } from '#apiserver/discovery/discovered-groups.ts'
import { subresourcesOf } from '#apiserver/discovery/discovery.ts'
import { discoveryRoute, hasBuiltInKinds } from '#apiserver/discovery/discovery-endpoints.ts'
import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { FlowControl } from '#apiserver/flow-control/flow-control.ts'
import { FlowMetrics } from '#apiserver/flow-control/flow-metrics.ts'
import { followFlowObjects } from '#apiserver/flow-control/flow-objects.ts'
import { BootSequence } from '#apiserver/health/boot-sequence.ts'
import { HealthChecks } from '#apiserver/health/health-checks.ts'
import { HealthcheckMetrics } from '#apiserver/health/healthcheck-metrics.ts'
import { ApiHandler, type Endpoint } from '#apiserver/http/handler.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { otherRoute, pageNotFound } from '#apiserver/http/other-endpoints.ts'
import { type EndpointServices, resourceRoute, type SpecialSubresource } from '#apiserver/http/resource-endpoints.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { WatchStream } from '#apiserver/http/watch-stream.ts'
import { AccessMetrics } from '#apiserver/metrics/access-metrics.ts'
import { AdmissionMetrics } from '#apiserver/metrics/admission-metrics.ts'
import { measureProcess } from '#apiserver/metrics/process-metrics.ts'
import { RequestMetrics } from '#apiserver/metrics/request-metrics.ts'
import { measuredStore, measureResources, type StoredResource } from '#apiserver/metrics/storage-metrics.ts'
import { WatchMetrics } from '#apiserver/metrics/watch-metrics.ts'
import { openApiEndpoints } from '#apiserver/openapi/endpoints.ts'
import type { FieldOwnership } from '#apiserver/registry/field-ownership.ts'
import { managedFieldsOwnership } from '#apiserver/registry/managed-fields-ownership.ts'
import { Registries } from '#apiserver/registry/registries.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import { storagePrefix } from '#apiserver/registry/storage-key.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { ownBytes } from '#base/own-bytes.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

export type ApiServerOptions = {
  store: Store
  clock: Clock
  random: Random
  logger: Logger
  metrics?: Metrics
  /** What is served, now and later: kinds may be added to it and removed while the server runs. */
  scheme: Scheme
  isEnabled(featureGate: string): boolean
  authenticator(cluster: ClusterView): Authenticator
  authorizer(cluster: ClusterView): Authorizer
  admissionPlugins(cluster: ClusterView, authorizer: Authorizer): readonly AdmissionPlugin[]
  /** Hooks by `group/plural`. */
  hooks?(registries: Registries): ReadonlyMap<string, RegistryHooks>
  /** By `group/plural/subresource`. */
  specialSubresources?(server: ServerParts): ReadonlyMap<string, SpecialSubresource>
  /** Resources that answer a POST without storing anything, by `group/plural`: reviews. */
  virtualResources?(server: ServerParts): ReadonlyMap<string, Endpoint>
  /** Other paths: OpenID discovery, … */
  paths?(server: ServerParts): ReadonlyMap<string, Endpoint>
  version: Readonly<Record<string, string>>
  serverAddress(): string
  /** How objects of a resource lie in the store; as they are where undefined. */
  transformer?(group: string, plural: string): ValueTransformer | undefined
  /** Objects of these resources (by `group/plural`) go away by themselves. */
  ttlSeconds?: Readonly<Record<string, number>>
  /** Group versions of other servers; absent: there are none. */
  aggregator?: Pick<Aggregator, 'endpointFor' | 'discovery' | 'openApi'> | undefined
  /** Undefined: nothing is put on record. */
  auditor?: Auditor | undefined
  requestTimeoutMs?: number
  /** Undefined: every request runs at once. */
  flowControl?: { serverSeats: number; waitLimitMs: number } | undefined
}

export type ServerParts = {
  registries: Registries
  cluster: ClusterView
  authorizer: Authorizer
  authenticator: Authenticator
  admission: Pick<AdmissionChain, 'mutate' | 'validate'>
  services: EndpointServices
}

const bodyLimitBytes = 3 * 1024 * 1024
const serverUser = { name: 'system:apiserver', groups: ['system:masters'], extra: {} }

export class ApiServer {
  readonly scheme: Scheme
  readonly registries: Registries
  readonly cluster: ClusterView
  readonly handler: ApiHandler
  readonly boot = new BootSequence()
  readonly health: HealthChecks
  readonly #options: ApiServerOptions
  #hooks: ReadonlyMap<string, RegistryHooks> = new Map()
  #admission: AdmissionChain = new AdmissionChain([])
  readonly #outsideWatches = new Set<WatchStream>()
  readonly #flowControl: FlowControl | undefined
  #followingFlows: Disposable | undefined
  #isDraining = false
  readonly #ownership: FieldOwnership
  #customDefinitions: Disposable | undefined

  constructor(options: ApiServerOptions) {
    this.#options = options
    this.scheme = options.scheme
    const healthchecks = new HealthcheckMetrics(thisProcess.startedMs)
    this.health = new HealthChecks({ metrics: healthchecks, logger: options.logger })
    const { clock, random, isEnabled, scheme, metrics = new Metrics() } = options
    const store = measuredStore(options.store, metrics, clock, () => this.#storagePrefixes())
    const admissionMetrics = new AdmissionMetrics(metrics, clock)
    // The chain is filled in below: its plugins look at the registries.
    const admission = admissionMetrics.chain(() => this.#admission)
    const ownership = managedFieldsOwnership({ clock, findVersion: (stored, apiVersion) => this.registries.versionOf(stored, apiVersion) })
    this.#ownership = ownership
    this.registries = new Registries({
      scheme,
      store,
      clock,
      random,
      isEnabled,
      ownership,
      admission,
      perResource: (definition) => ({
        transformer: options.transformer?.(definition.group, definition.plural),
        encode(object) {
          const canonical = canonicalize(object, definition.schema)
          return { canonical, value: ownBytes(jsonText(canonical)) }
        },
        ...(definition.untyped && untypedStorage({ ...definition, untyped: definition.untyped })),
        hooks: this.#hooksOf(definition),
        ...this.#leaseOf(definition),
      }),
    })
    this.cluster = this.registries.view()
    const authorizer = options.authorizer(this.cluster)
    const authenticator = options.authenticator(this.cluster)
    this.#hooks = new Map([...definitionHooks, ...(options.hooks?.(this.registries) ?? [])])
    this.#admission = new AdmissionChain(admissionMetrics.measured(options.admissionPlugins(this.cluster, authorizer)))
    const services: EndpointServices = {
      clock,
      random,
      store,
      ownership,
      bodyLimitBytes,
      gzipFromBytes: 128 * 1024,
      watches: new WatchMetrics(metrics),
      outsideWatches: this.#outsideWatches,
      find: (group, version, plural) => this.registries.find(group, version, plural),
      special: (group, plural, subresource) => special.get(`${group}/${plural}/${subresource}`),
    }
    const parts: ServerParts = { registries: this.registries, cluster: this.cluster, authorizer, authenticator, admission, services }
    const special = options.specialSubresources?.(parts) ?? new Map<string, SpecialSubresource>()
    const virtual = options.virtualResources?.(parts) ?? new Map<string, Endpoint>()
    const resources = resourceRoute(services)
    const { aggregator } = options
    const groups = aggregator === undefined ? scheme : new DiscoveredGroups(scheme, aggregator.discovery)
    const discovery = discoveryRoute({ groups, serverAddress: options.serverAddress })
    const openApi = openApiEndpoints({
      scheme,
      version: JSON.stringify(options.version),
      clock,
      remote: aggregator?.openApi,
    })
    const others = otherRoute({
      health: this.health,
      metrics,
      healthchecks,
      groupPaths: () => groupPaths(scheme),
      version: options.version,
      paths: new Map([...openApi.paths, ...(options.paths?.(parts) ?? [])]),
      prefixes: [openApi.prefix],
    })
    measureProcess(metrics, options.version)
    measureResources(metrics, store, () => this.#storedResources())
    this.#flowControl = options.flowControl && new FlowControl({ clock, metrics: new FlowMetrics(metrics), ...options.flowControl })
    this.handler = new ApiHandler({
      authenticator,
      authorizer,
      logger: options.logger,
      clock,
      ...(options.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: options.requestTimeoutMs }),
      records: {
        clock,
        random,
        logger: options.logger,
        requests: new RequestMetrics({
          metrics,
          isServed: ({ group, version, resource, subresource }) => isServed(group, version, resource, subresource),
          deprecation({ group, version, resource }) {
            const { deprecated } = services.find(group, version, resource)?.definition ?? {}
            return deprecated && (deprecated.removedIn ?? '')
          },
        }),
        access: new AccessMetrics(metrics),
        auditor: options.auditor,
        flowControl: this.#flowControl,
        objectCount: (group, resource) => this.registries.find(group, 'v1', resource)?.registry.cache.size ?? 0,
      },
      route(info, method) {
        const elsewhere = aggregator?.endpointFor(info)
        if (elsewhere !== undefined) return elsewhere
        if (!info.isResourceRequest) return discovery(info.path, method) ?? others(info.path, method)
        if (method === 'POST' && info.subresource === '') {
          const endpoint = virtual.get(`${info.group}/${info.resource}`)
          if (endpoint && services.find(info.group, info.version, info.resource)) return endpoint
        }
        return resources(info, method) ?? (hasBuiltInKinds(scheme.group(info.group)) ? undefined : pageNotFound)
      },
    })
    const isServed = (group: string, version: string, plural: string, subresource: string) => {
      const definition = services.find(group, version, plural)?.definition
      if (definition === undefined || subresource === '') return definition !== undefined
      return subresourcesOf(definition).some(({ name }) => name === subresource)
    }
    this.#addHealthChecks(() => store.trouble?.message)
  }

  /** Upstream's names, in upstream's order. */
  #addHealthChecks(storeTrouble: () => string | undefined): void {
    const { health, boot } = this
    health.add({ name: 'ping', run: () => undefined })
    // Nothing is logged in the background here: a log that blocks blocks the answer too.
    health.add({ name: 'log', run: () => undefined })
    health.add({ name: 'etcd', run: storeTrouble })
    health.add({ name: 'etcd-readiness', run: storeTrouble }, ['readyz'])
    health.add({ name: 'informer-sync', run: () => (boot.has('caches') ? undefined : 'caches not filled yet') }, ['readyz'])
    for (const check of boot.checks({ hasFlowControl: this.#flowControl !== undefined })) health.add(check)
    health.add({ name: 'shutdown', run: () => (this.#isDraining ? 'process is shutting down' : undefined) }, ['readyz'])
  }

  /** Fills the caches from the store; the server can answer from then on. */
  async start(): Promise<void> {
    await this.registries.start()
    const { clock, logger, scheme } = this.#options
    if (scheme.preferred('apiextensions.k8s.io', 'customresourcedefinitions')) {
      this.#customDefinitions = new CustomDefinitions({ scheme, registries: this.registries, ownership: this.#ownership, clock, logger })
    }
    const send = inProcess(this.handler.handle, new TrustedConnection(serverUser))
    if (this.#flowControl) {
      this.#followingFlows = followFlowObjects({ cluster: this.cluster, flowControl: this.#flowControl, clock, logger, send })
    }
    this.boot.done('caches')
  }

  /** Ends watches, which would outlast every patience: their clients go on elsewhere, or later. Says that it is not ready any more. */
  drain(): void {
    this.#isDraining = true
    for (const watch of [...this.#outsideWatches]) watch.stop()
  }

  stop(): void {
    this.#followingFlows?.[Symbol.dispose]()
    this.#customDefinitions?.[Symbol.dispose]()
    this.registries.stop()
  }

  *#storagePrefixes(): Generator<readonly [string, { group: string; resource: string }]> {
    for (const { definition } of this.registries.all())
      yield [storagePrefix(definition), { group: definition.group, resource: definition.plural }]
  }

  *#storedResources(): Generator<StoredResource> {
    for (const { definition, cache } of this.registries.all()) {
      yield { group: definition.group, resource: definition.plural, count: cache.size, revision: cache.revision, watchers: cache.watchers }
    }
  }

  #hooksOf({ group, plural }: ResourceDefinition): RegistryHooks {
    const name = `${group}/${plural}`
    const hooks = () => this.#hooks.get(name)
    return {
      beginCreate: async (object, context) => hooks()?.beginCreate?.(object, context),
      beginUpdate: async (next, prev, context) => hooks()?.beginUpdate?.(next, prev, context),
      afterRules: (next, prev, context) => hooks()?.afterRules?.(next, prev, context),
      insteadOfDelete: (object, options, nowMs) => hooks()?.insteadOfDelete?.(object, options, nowMs),
      afterDelete: async (object, context) => hooks()?.afterDelete?.(object, context),
      mayDeleteOnUpdate: (next) => hooks()?.mayDeleteOnUpdate?.(next) ?? true,
    }
  }

  /** Objects that expire hang on a lease; those made within the same minute share one. */
  #leaseOf({ group, plural }: ResourceDefinition): { lease?(): Promise<bigint> } {
    const ttlSeconds = this.#options.ttlSeconds?.[`${group}/${plural}`]
    if (ttlSeconds === undefined) return {}
    const { store, clock } = this.#options
    let current: Promise<bigint> | undefined
    let grantedMs = 0
    return {
      lease: () => {
        if (current === undefined || clock.now() - grantedMs > 60_000) {
          grantedMs = clock.now()
          current = store.grantLease(ttlSeconds + 60).then(({ id }) => id)
        }
        return current
      },
    }
  }
}

/** For the index. */
function groupPaths({ groups }: Scheme): string[] {
  return groups
    .filter(({ group }) => group !== '')
    .flatMap(({ group, versions }) => [`/apis/${group}`, ...versions.map(({ version }) => `/apis/${group}/${version}`)])
}
