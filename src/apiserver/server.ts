/** The API server: everything it is made of, put together. */

import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { celBudgets } from '#api/cel/cost-budgets.ts'
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
import { FairUse } from '#apiserver/fair-use/fair-use.ts'
import { defaultLimits, type FairUseLimits } from '#apiserver/fair-use/limits.ts'
import { MeasuredCosts } from '#apiserver/fair-use/measured-costs.ts'
import { FlowControl } from '#apiserver/flow-control/flow-control.ts'
import { FlowMetrics } from '#apiserver/flow-control/flow-metrics.ts'
import { followFlowObjects } from '#apiserver/flow-control/flow-objects.ts'
import { BootSequence } from '#apiserver/health/boot-sequence.ts'
import type { HealthChecks } from '#apiserver/health/health-checks.ts'
import { HealthcheckMetrics } from '#apiserver/health/healthcheck-metrics.ts'
import { ApiHandler, type Endpoint } from '#apiserver/http/handler.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { defaultRequestTimeoutMs } from '#apiserver/http/request-deadline.ts'
import { RequestTurns } from '#apiserver/http/request-turns.ts'
import type { EndpointServices, SpecialSubresource } from '#apiserver/http/resource-endpoints.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { WatchStream } from '#apiserver/http/watch-stream.ts'
import { WatchMetrics } from '#apiserver/metrics/watch-metrics.ts'
import type { PeerProxy } from '#apiserver/peers/peer-proxy.ts'
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
import type { FirstServerRoute } from '#apiserver/workers/first-server.ts'
import type { Clock } from '#base/clock.ts'
import type { FlightRecord } from '#base/flight-record.ts'
import type { Logger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { memoryOfProcess } from '#base/memory-use.ts'
import { Metrics } from '#base/metrics.ts'
import { oneEachTurn } from '#base/one-each-turn.ts'
import type { Random } from '#base/random.ts'
import { timeOfThread } from '#base/thread-time.ts'
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
  /** Resources of which nothing is stored, by method and `group/plural`: reviews, the state of components. */
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
  /** Other API servers of the cluster, which may know more. */
  peers?: Pick<PeerProxy, 'endpointFor'> | undefined
  /** In a worker: what the first API server of the process answers. */
  firstServer?: FirstServerRoute | undefined
  /** In place of this server's own metrics: those of all servers of the process together. */
  metricsText?: (() => Promise<string>) | undefined
  /** How objects of custom resources are converted by those who define them; where absent, versions differ in name only. */
  webhooks?: Pick<WebhookCalls, 'post'>
  /** Undefined: nothing is put on record. */
  auditor?: Auditor | undefined
  requestTimeoutMs?: number
  /** Where it is noted what is being served, for those who find the process gone. */
  flightRecord?: Pick<FlightRecord, 'note'> | undefined
  /** What a client may ask for. */
  fairUse?: FairUseLimits
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
  /** Why the store does not answer; undefined where it does. */
  storeTrouble(): string | undefined
}

const gzipFromBytes = 128 * 1024
const allowedAlready: Authorizer = { authorize: () => ({ decision: 'allow', reason: '' }) }
/** A write of a large object lets others in between two of its steps once it has taken so long. */
const giveWayMs = 8
const limitsElsewhere = ({ memoryLimitBytes = 0, requestTimeoutMs = defaultRequestTimeoutMs }: ApiServerOptions) => ({
  ...{ celCallBudget: celBudgets.perCall, celRequestBudget: celBudgets.perRequest },
  ...{ memoryBytes: memoryLimitBytes, requestSeconds: requestTimeoutMs / 1000 },
})
const serverUser = { name: 'system:apiserver', groups: ['system:masters'], extra: {} }

export class ApiServer {
  readonly scheme: Scheme
  readonly registries: Registries
  readonly cluster: ClusterView
  readonly handler: ApiHandler
  /** For requests that a worker of this process has let in, and passes on. */
  readonly workersHandler: ApiHandler
  readonly boot = new BootSequence()
  readonly health: HealthChecks
  readonly #options: ApiServerOptions
  readonly #ownership: FieldOwnership
  readonly #flowControl: FlowControl | undefined
  readonly #outsideWatches = new Set<WatchStream>()
  /** What runs beside requests, from `start` to `stop`. */
  readonly #running = new DisposableStack()
  readonly #leaving = new AbortController()

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
    const largeBodyTurn = oneEachTurn(clock)
    const services: EndpointServices = {
      ...{ clock, random, logger, store, ownership, gzipFromBytes, authorizer },
      answerTurns: new RequestTurns(clock),
      largeBodyTurn,
      fairUse: new FairUse(options.fairUse ?? defaultLimits, metrics, limitsElsewhere(options)),
      giveWay(context) {
        const heldMs = clock.heldMs()
        if (heldMs < giveWayMs) return undefined
        context.heldMs += heldMs
        return largeBodyTurn()
      },
      watches: new WatchMetrics(metrics),
      outsideWatches: this.#outsideWatches,
      find: (group, version, plural) => registries.find(group, version, plural),
      special: (group, plural, subresource) => subresources.get(`${group}/${plural}/${subresource}`),
    }
    const storeTrouble = () => store.trouble?.message
    const parts: ServerParts = { registries, cluster, authorizer, authenticator, admission, services, storeTrouble }
    for (const [name, subresource] of options.specialSubresources?.(parts) ?? []) subresources.set(name, subresource)

    const flowControl = options.flowControl && new FlowControl({ clock, metrics: new FlowMetrics(metrics), ...options.flowControl })
    const healthchecks = new HealthcheckMetrics(thisProcess.startedMs)
    const health = healthStage({
      ...{ boot: this.boot, metrics: healthchecks, logger, hasFlowControl: flowControl !== undefined },
      storeTrouble,
      isDraining: () => this.#leaving.signal.aborted,
    })

    const virtualResources = options.virtualResources?.(parts) ?? new Map<string, Endpoint>()
    const paths = options.paths?.(parts) ?? new Map<string, Endpoint>()
    const route = routesStage(options, { services, virtualResources, paths, health, healthchecks, metrics })
    const costs = services.fairUse.limits.measuresCost ? new MeasuredCosts(clock) : undefined
    const records = recordsStage({ clock, random, logger, auditor, flowControl, costs }, services, metrics)
    const { requestTimeoutMs = defaultRequestTimeoutMs } = options
    const stalls = this.#running.use(new StallWatch({ clock, logger, metrics, threadMs: timeOfThread, record: options.flightRecord }))
    const memory = new MemoryGuard({ clock, logger, metrics, measure: memoryOfProcess, limitBytes: options.memoryLimitBytes ?? 0 })
    this.workersHandler = new ApiHandler({ authenticator, authorizer: allowedAlready, logger, clock, route })
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

  /** Aborts when others shall take over. */
  get leaving(): AbortSignal {
    return this.#leaving.signal
  }

  /** Says that it is not ready any more, and is no longer named among the servers, while it goes on serving those who still come. */
  leave(): void {
    this.#leaving.abort()
  }

  /** Leaves, and ends watches, which would outlast every patience: their clients go on elsewhere, or later. */
  drain(): void {
    this.leave()
    for (const watch of [...this.#outsideWatches]) watch.stop()
  }

  stop(): void {
    this.#running.dispose()
  }
}
