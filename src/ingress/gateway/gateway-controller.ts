import { Namespace } from '#api/core/v1/kinds.gen.ts'
import type { V1Namespace } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { isAlreadyExists, isConflict, isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { inTurns } from '#base/in-turns.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Steps } from '#base/steps.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { fingerprintOfSource } from '#ingress/controller/fingerprints.ts'
import type { ProxyControl } from '#ingress/controller/proxy-control.ts'
import type { Source } from '#ingress/controller/source.ts'
import { type AnyRoute, evaluateGateways, type GatewayEvaluation, gatewayController } from '#ingress/gateway/evaluate-gateways.ts'
import { Gateway, GatewayClass, GrpcRoute, HttpRoute, ReferenceGrant } from '#ingress/gateway/kinds.ts'
import { type DefinitionWatch, whenServed } from '#ingress/gateway/when-served.ts'

export type GatewayControllerOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  control: ProxyControl
  /** What ports 80 and 443 of a Gateway are on this machine. */
  httpPort: number
  httpsPort: number
  /** Where clients find the proxy. */
  addresses: readonly string[]
}

const className = 'typernetes'
const gatherMs = 50
const retryMs = 2000
/** Of one turn of the event loop. */
const turnMs = 10

/** Serves every Gateway of our classes with its routes, from the moment on when its kinds are defined. */
export class GatewayController {
  readonly #options: GatewayControllerOptions
  readonly #watches: DefinitionWatch[]
  readonly #classes: Informer<GatewayClass>
  readonly #gateways: Informer<Gateway>
  readonly #httpRoutes: Informer<HttpRoute>
  readonly #grpcRoutes: Informer<GrpcRoute>
  readonly #grants: Informer<ReferenceGrant>
  readonly #namespaces: Informer<V1Namespace>
  readonly #started = new Set<Informer>()
  /** The fingerprint of what the proxy was told, by Gateway. */
  readonly #sources = new Map<string, string>()
  #timer: Timer | undefined
  #running: Promise<void> = Promise.resolve()
  /** What the last evaluation asked for, whether or not it was there. */
  #references = { services: new Set<string>(), secrets: new Set<string>() }
  #isStopped = false

  constructor(options: GatewayControllerOptions) {
    this.#options = options
    const { client, clock, random, logger, control } = options
    const shared = { client, clock, random, logger, forgetsManagers: true }
    this.#classes = new Informer({ ...shared, kind: GatewayClass })
    this.#gateways = new Informer({ ...shared, kind: Gateway })
    this.#httpRoutes = new Informer({ ...shared, kind: HttpRoute })
    this.#grpcRoutes = new Informer({ ...shared, kind: GrpcRoute })
    this.#grants = new Informer({ ...shared, kind: ReferenceGrant })
    this.#namespaces = new Informer({ ...shared, kind: Namespace })
    const follow = <T extends KubernetesObject>(kind: Kind<T>, informer: Informer<T>, then?: () => Promise<void>) =>
      whenServed(kind, { client, clock, random, logger }, () => {
        if (this.#isStopped) return
        this.#start(informer)
        void then?.()
      })
    this.#watches = [
      follow(GatewayClass, this.#classes, () => this.#makeClass()),
      follow(Gateway, this.#gateways, async () => this.#start(this.#namespaces)),
      follow(HttpRoute, this.#httpRoutes),
      follow(GrpcRoute, this.#grpcRoutes),
      follow(ReferenceGrant, this.#grants),
    ]
    control.onReferenceChange((changed) => {
      const { services, secrets } = this.#references
      if (changed === undefined || !services.isDisjointFrom(changed.services) || !secrets.isDisjointFrom(changed.secrets)) this.#soon()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    for (const watch of this.#watches) watch[Symbol.dispose]()
    for (const informer of this.#started) informer.stop()
    await this.#running
  }

  #start<T extends KubernetesObject>(informer: Informer<T>): void {
    this.#started.add(informer as unknown as Informer)
    const soon = () => this.#soon()
    informer.addHandler({ onAdd: soon, onUpdate: soon, onDelete: soon })
    informer.start()
    void informer.synced.then(soon)
  }

  #soon(): void {
    if (this.#isStopped || !this.#started.has(this.#gateways as unknown as Informer)) return
    this.#timer ??= this.#options.clock.after(gatherMs, () => {
      this.#timer = undefined
      this.#running = this.#running.then(() => this.#bringAbout())
    })
  }

  async #bringAbout(): Promise<void> {
    // Half of what there is would look as if the rest had been taken away.
    if (this.#isStopped || [...this.#started].some(({ hasSynced }) => !hasSynced)) return
    const { clock } = this.#options
    try {
      const evaluation = await inTurns(this.#evaluate(), clock)
      await inTurns(this.#tellProxy(evaluation), clock)
      await this.#writeStatuses(evaluation)
    } catch (error) {
      if (isConflict(error) || isNotFound(error))
        this.#options.logger.debug('conflict while updating the status of a Gateway, retrying', { error: errorMessage(error) })
      else this.#options.logger.warn('failed to serve a Gateway or to write its status, retrying', { error: errorMessage(error) })
      clock.after(retryMs, () => this.#soon())
    }
  }

  #evaluate(): Steps<GatewayEvaluation> {
    const references = { services: new Set<string>(), secrets: new Set<string>() }
    this.#references = references
    const { control, clock, addresses, httpPort, httpsPort } = this.#options
    const isServed = (informer: unknown) => this.#started.has(informer as Informer)
    return evaluateGateways({
      ...{
        classes: this.#classes.list(),
        gateways: this.#gateways.list(),
        httpRoutes: this.#httpRoutes.list(),
        grants: this.#grants.list(),
      },
      grpcRoutes: isServed(this.#grpcRoutes) ? this.#grpcRoutes.list() : undefined,
      namespace: (name) => this.#namespaces.get('', name),
      service: (namespace, name) => {
        references.services.add(`${namespace}/${name}`)
        return control.service(namespace, name)
      },
      certificate: (secret) => {
        references.secrets.add(secret)
        return control.certificate(secret)
      },
      problemOf: (listener) => control.problemOf(listener),
      isOpen: (listener) => control.isOpen(listener),
      ...{ addresses, spareAddresses: control.spareAddresses, httpPort, httpsPort, now: formatTime(clock.now()) },
    })
  }

  *#tellProxy({ gateways, listeners }: GatewayEvaluation): Steps<void> {
    const { control } = this.#options
    const wanted = new Map<string, Source>(gateways.map(({ object, source }) => [`Gateway ${keyOf(object)}`, source]))
    for (const [key, source] of wanted) {
      const text = yield* fingerprintOfSource(source)
      if (this.#sources.get(key) === text) continue
      this.#sources.set(key, text)
      control.set(key, () => known(source))
    }
    for (const key of this.#sources.keys()) {
      if (wanted.has(key)) continue
      this.#sources.delete(key)
      control.delete(key)
    }
    control.listenFor('gateways', listeners)
  }

  async #writeStatuses({ classes, gateways, routes }: GatewayEvaluation): Promise<void> {
    for (const { object, status } of classes) await this.#write(GatewayClass, object, status)
    // Before services and secrets are known everything that refers to one would look wrong.
    if (gateways.length > 0 && !this.#options.control.isSynced) return
    for (const { object, status } of gateways) await this.#write(Gateway, object, status)
    for (const { kind, object, status } of routes)
      await this.#write((kind === 'HTTPRoute' ? HttpRoute : GrpcRoute) as Kind<AnyRoute>, object, status)
  }

  async #write<T extends KubernetesObject & { status?: unknown }>(kind: Kind<T>, object: T, status: T['status']): Promise<void> {
    if (this.#options.clock.heldMs() > turnMs) await new Promise<void>((resolve) => this.#options.clock.soon(resolve))
    if (this.#isStopped || stableText(object.status) === stableText(status)) return
    await this.#options.client.updateStatus(kind, { ...object, status })
  }

  /** Once: whoever changes or deletes it has the last word until the next start. */
  async #makeClass(): Promise<void> {
    try {
      await this.#options.client.create(GatewayClass, { metadata: { name: className }, spec: { controllerName: gatewayController } })
    } catch (error) {
      if (!isAlreadyExists(error))
        this.#options.logger.warn('failed to create GatewayClass', { gatewayClass: className, error: errorMessage(error) })
    }
  }
}

// biome-ignore lint/correctness/useYield: it is known already.
function* known(source: Source): Steps<Source> {
  return source
}

/** The same for the same value, in whatever order its fields are. */
function stableText(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )
}
