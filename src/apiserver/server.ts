/** The API server: everything it is made of, put together. */

import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import type { Scheme } from '#api/scheme.ts'
import type { AdmissionChain, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import type { Aggregator } from '#apiserver/aggregation/aggregator.ts'
import type { Auditor } from '#apiserver/audit/auditor.ts'
import type { Authenticator } from '#apiserver/authn/authenticator.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { conversionOf } from '#apiserver/custom-resources/conversion-webhook.ts'
import { CustomDefinitions } from '#apiserver/custom-resources/custom-definitions.ts'
import { definitionHooks } from '#apiserver/custom-resources/definition-hooks.ts'
import { followThirdPartyResources } from '#apiserver/custom-resources/third-party-resources.ts'
import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { FlowControl } from '#apiserver/flow-control/flow-control.ts'
import { FlowMetrics } from '#apiserver/flow-control/flow-metrics.ts'
import { followFlowObjects } from '#apiserver/flow-control/flow-objects.ts'
import { BootSequence } from '#apiserver/health/boot-sequence.ts'
import type { HealthChecks } from '#apiserver/health/health-checks.ts'
import { HealthcheckMetrics } from '#apiserver/health/healthcheck-metrics.ts'
import { ApiHandler, type Endpoint } from '#apiserver/http/handler.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { defaultRequestTimeoutMs } from '#apiserver/http/request-deadline.ts'
import type { EndpointServices, SpecialSubresource } from '#apiserver/http/resource-endpoints.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { WatchStream } from '#apiserver/http/watch-stream.ts'
import { WatchMetrics } from '#apiserver/metrics/watch-metrics.ts'
import type { FieldOwnership } from '#apiserver/registry/field-ownership.ts'
import type { Registries } from '#apiserver/registry/registries.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import { healthStage } from '#apiserver/stages/health-stage.ts'
import { recordsStage } from '#apiserver/stages/records-stage.ts'
import { routesStage } from '#apiserver/stages/routes-stage.ts'
import { storageStage } from '#apiserver/stages/storage-stage.ts'
import { MemoryGuard } from '#apiserver/watchdog/memory-guard.ts'
import { StallWatch } from '#apiserver/watchdog/stall-watch.ts'
import type { WebhookCalls } from '#apiserver/webhooks/webhook-calls.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { memoryOfProcess } from '#base/memory-use.ts'
import { Metrics } from '#base/metrics.ts'
import { oneEachTurn } from '#base/one-each-turn.ts'
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
  /** How objects of custom resources are converted by those who define them; where absent, versions differ in name only. */
  webhooks?: Pick<WebhookCalls, 'post'>
  /** Undefined: nothing is put on record. */
  auditor?: Auditor | undefined
  requestTimeoutMs?: number
  /** New work is refused when the process has nearly so much; 0 or absent: near the limit of its heap. */
  memoryLimitBytes?: number
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
const gzipFromBytes = 128 * 1024
const serverUser = { name: 'system:apiserver', groups: ['system:masters'], extra: {} }

export class ApiServer {
  readonly scheme: Scheme
  readonly registries: Registries
  readonly cluster: ClusterView
  readonly handler: ApiHandler
  readonly boot = new BootSequence()
  readonly health: HealthChecks
  readonly #options: ApiServerOptions
  readonly #ownership: FieldOwnership
  readonly #flowControl: FlowControl | undefined
  readonly #outsideWatches = new Set<WatchStream>()
  /** What runs beside requests, from `start` to `stop`. */
  readonly #running = new DisposableStack()
  #isDraining = false

  /** In stages, each of which takes what those before it made. */
  constructor(options: ApiServerOptions) {
    const { clock, random, logger, scheme, auditor, metrics = new Metrics() } = options
    const { store, registries, cluster, ownership, admission, install } = storageStage(options, metrics)

    const authorizer = options.authorizer(cluster)
    const authenticator = options.authenticator(cluster)
    install({
      hooks: new Map([...definitionHooks(clock), ...(options.hooks?.(registries) ?? [])]),
      plugins: options.admissionPlugins(cluster, authorizer),
    })

    const subresources = new Map<string, SpecialSubresource>()
    const services: EndpointServices = {
      ...{ clock, random, store, ownership, bodyLimitBytes, gzipFromBytes },
      largeBodyTurn: oneEachTurn(clock),
      watches: new WatchMetrics(metrics),
      outsideWatches: this.#outsideWatches,
      find: (group, version, plural) => registries.find(group, version, plural),
      special: (group, plural, subresource) => subresources.get(`${group}/${plural}/${subresource}`),
    }
    const parts: ServerParts = { registries, cluster, authorizer, authenticator, admission, services }
    for (const [name, subresource] of options.specialSubresources?.(parts) ?? []) subresources.set(name, subresource)

    const flowControl = options.flowControl && new FlowControl({ clock, metrics: new FlowMetrics(metrics), ...options.flowControl })
    const healthchecks = new HealthcheckMetrics(thisProcess.startedMs)
    const health = healthStage({
      ...{ boot: this.boot, metrics: healthchecks, logger, hasFlowControl: flowControl !== undefined },
      storeTrouble: () => store.trouble?.message,
      isDraining: () => this.#isDraining,
    })

    const virtualResources = options.virtualResources?.(parts) ?? new Map<string, Endpoint>()
    const paths = options.paths?.(parts) ?? new Map<string, Endpoint>()
    const route = routesStage(options, { services, virtualResources, paths, health, healthchecks, metrics })
    const records = recordsStage({ clock, random, logger, auditor, flowControl }, services, metrics)
    const { requestTimeoutMs = defaultRequestTimeoutMs } = options
    const stalls = this.#running.use(new StallWatch({ clock, logger, metrics }))
    const memory = new MemoryGuard({ clock, logger, metrics, measure: memoryOfProcess, limitBytes: options.memoryLimitBytes ?? 0 })
    this.handler = new ApiHandler({ authenticator, authorizer, logger, clock, requestTimeoutMs, records, route, stalls, memory })

    this.scheme = scheme
    this.registries = registries
    this.cluster = cluster
    this.health = health
    this.#options = options
    this.#ownership = ownership
    this.#flowControl = flowControl
  }

  /** Fills the caches from the store; the server can answer from then on. */
  async start(): Promise<void> {
    const { registries, cluster } = this
    this.#running.defer(() => registries.stop())
    await registries.start()
    const { clock, logger, scheme } = this.#options
    if (scheme.preferred('apiextensions.k8s.io', 'customresourcedefinitions')) {
      const { webhooks, random } = this.#options
      const converter = (definition: V1CustomResourceDefinition) => webhooks && conversionOf(definition, { webhooks, random })
      this.#running.use(new CustomDefinitions({ scheme, registries, ownership: this.#ownership, clock, logger, converter }))
    }
    if (scheme.byResource('extensions', 'v1beta1', 'thirdpartyresources')) {
      this.#running.use(followThirdPartyResources({ cluster, clock, logger }))
    }
    const flowControl = this.#flowControl
    if (flowControl) {
      const send = inProcess(this.handler.handle, new TrustedConnection(serverUser))
      this.#running.use(followFlowObjects({ cluster, flowControl, clock, logger, send }))
    }
    this.boot.done('caches')
  }

  /** Ends watches, which would outlast every patience: their clients go on elsewhere, or later. Says that it is not ready any more. */
  drain(): void {
    this.#isDraining = true
    for (const watch of [...this.#outsideWatches]) watch.stop()
  }

  stop(): void {
    this.#running.dispose()
  }
}
