/** API aggregation: group versions that APIServices give to other servers are found, described and passed on to them. */
import { Service } from '#api/core/v1/kinds.gen.ts'
import { askingRemotes } from '#apiserver/aggregation/ask-remote.ts'
import { Availability } from '#apiserver/aggregation/availability.ts'
import { AvailabilityMetrics } from '#apiserver/aggregation/availability-metrics.ts'
import { isSomebodyElses } from '#apiserver/aggregation/built-in-api-services.ts'
import { passedOn } from '#apiserver/aggregation/passed-request.ts'
import type { RemoteApi } from '#apiserver/aggregation/remote-api.ts'
import { RemoteApis } from '#apiserver/aggregation/remote-apis.ts'
import { RemoteConnections, type RemoteConnectionsOptions } from '#apiserver/aggregation/remote-connections.ts'
import { RemoteDiscovery } from '#apiserver/aggregation/remote-discovery.ts'
import { RemoteOpenApi } from '#apiserver/aggregation/remote-openapi.ts'
import { validateRemoteApi } from '#apiserver/aggregation/validate-remote-api.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { ServiceReference, ServiceRoutes } from '#apiserver/webhooks/service-routes.ts'
import type { Clock } from '#base/clock.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'

export type AggregatorOptions = Omit<RemoteConnectionsOptions, 'hostOf' | 'inProcess'> & {
  /** Servers in this process by the names of their APIServices: `v1beta1.metrics.k8s.io`. */
  inProcess?: ReadonlyMap<string, (exchange: HttpExchange) => void> | undefined
  routes: ServiceRoutes
  clock: Clock
  logger: Logger
  metrics: Metrics
}

export class Aggregator implements Disposable {
  readonly discovery: RemoteDiscovery
  readonly openApi: RemoteOpenApi
  readonly #options: AggregatorOptions
  readonly #apis = new RemoteApis()
  readonly #connections: RemoteConnections
  readonly #running = new DisposableStack()
  /** Somebody else serves it. */
  #isTaken: (service: ServiceReference) => boolean = () => false

  constructor(options: AggregatorOptions) {
    const { makeClient, identity, routes, clock, logger } = options
    this.#options = options
    this.#connections = this.#running.use(
      new RemoteConnections({
        ...{ makeClient, identity, hostOf: (service) => routes.hostOf(service) },
        inProcess: ({ name, service }) => (this.#isTaken(service) ? undefined : options.inProcess?.get(name)),
      }),
    )
    this.#apis.onChange(() => this.#connections.retain(this.#apis.all()))
    const ask = askingRemotes(this.#connections, clock)
    this.discovery = new RemoteDiscovery(this.#apis, ask, logger)
    this.openApi = new RemoteOpenApi(this.#apis, ask, logger)
  }

  /** Looks after the APIServices of the cluster from now on. */
  follow(cluster: ClusterView): void {
    const { clock, logger, metrics, routes } = this.#options
    this.#isTaken = ({ namespace, name }) => isSomebodyElses(cluster.get(Service, namespace, name))
    const connections = this.#connections
    this.#running.use(
      new Availability({
        cluster,
        apis: this.#apis,
        clock,
        logger,
        metrics: new AvailabilityMetrics(metrics),
        validate: (api) => validateRemoteApi(api, { cluster, endpoints: routes.endpoints, connections, clock }),
        onValidated: (api, isAvailable) => {
          void this.discovery.refresh(api, isAvailable)
          void this.openApi.refresh(api, isAvailable)
        },
      }),
    )
    this.#running.use(this.#apis.follow(cluster))
  }

  /** Undefined where the request is this server's own to answer. */
  endpointFor(info: RequestInfo): Endpoint | undefined {
    if (this.#apis.size === 0) return undefined
    const api = this.#apiOf(info)
    if (api === undefined) return undefined
    const document = info.path.startsWith('/openapi/') ? this.openApi.converted(api) : undefined
    if (document !== undefined) return ({ exchange }) => exchange.respond(200, documentHeaders(document.hash), document.text())
    return (context) => passedOn(context, api, { ...this.#options, connections: this.#connections })
  }

  /** The certificate was renewed. */
  forgetIdentity(): void {
    this.#connections.forget()
  }

  [Symbol.dispose](): void {
    this.#running.dispose()
  }

  #apiOf({ path, isResourceRequest, group, version }: RequestInfo): RemoteApi | undefined {
    if (isResourceRequest) return this.#apis.get(group, version)
    const [root, first = '', second = '', third = '', fourth = ''] = path.split('/').filter((part) => part !== '')
    if (root === 'apis') return this.#apis.get(first, second)
    if (root === 'api') return this.#apis.get('', first)
    if (root !== 'openapi' || first !== 'v3') return undefined
    return second === 'apis' ? this.#apis.get(third, fourth) : second === 'api' ? this.#apis.get('', third) : undefined
  }
}

const documentHeaders = (hash: string) => ({ 'content-type': 'application/json', etag: JSON.stringify(hash), vary: 'Accept' })
