import { Secret, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Secret, V1Service } from '#api/core/v1/types.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { inTurns } from '#base/in-turns.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Steps } from '#base/steps.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'
import { keyOf } from '#client/informer/object-store.ts'
import { backendOfService } from '#ingress/controller/backend-of-service.ts'
import { Listeners, type SpareAddresses, type WantedListener } from '#ingress/controller/listeners.ts'
import { ProxyState, type Resolver } from '#ingress/controller/proxy-state.ts'
import type { BackendReference, Source } from '#ingress/controller/source.ts'
import type { Backend } from '#ingress/data-plane/backend.ts'
import type { CertificatePair } from '#ingress/data-plane/certificate-table.ts'
import type { DataPlane } from '#ingress/data-plane/proxy-threads.ts'
import { selfSignedCertificate } from '#ingress/data-plane/self-signed-certificate.ts'

export type ProxyControlOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  /** Called once there is something to serve. */
  startDataPlane(): DataPlane
  /** Addresses of this machine. */
  hosts: readonly string[]
  /** For Gateways that want what another one has. */
  spare?: SpareAddresses
}

type ReferenceNames = { services: Set<string>; secrets: Set<string>; askers: Set<string> }

/** `namespace/name` of services and secrets, and the sources that ask for something of them; undefined: anything may have changed. */
export type ReferenceChange =
  | { readonly services: ReadonlySet<string>; readonly secrets: ReadonlySet<string>; readonly askers: ReadonlySet<string> }
  | undefined

const serviceIndex = 'service'
/** A chain of ten with large keys has 20 KiB; every thread has a copy. */
const mostPairBytes = 64 << 10
/** Changes that come together are told together. */
const gatherMs = 20
const retryMs = 30_000
const drainMs = 10_000

/** What stands between the controllers and the data plane: follows services, endpoints and secrets from the first source on, and tells the differences. */
export class ProxyControl {
  readonly #options: ProxyControlOptions
  readonly #state = new ProxyState()
  /** Sources that the state has yet to hear of; undefined: it is no more. */
  readonly #pending = new Map<string, (() => Steps<Source>) | undefined>()
  readonly #services: Informer<V1Service>
  readonly #slices: Informer<V1EndpointSlice>
  readonly #secrets: Informer<V1Secret>
  readonly #pairs = new WeakMap<V1Secret, CertificatePair>()
  readonly #wanted = new Map<string, readonly WantedListener[]>()
  readonly #onReferenceChange = new Set<(changed: ReferenceChange) => void>()
  /** What those are told next time; undefined: anything. */
  #changedReferences: ReferenceNames | undefined = noReferences()
  #dataPlane: DataPlane | undefined
  #listeners: Listeners | undefined
  #timer: Timer | undefined
  #retry: Timer | undefined
  #telling: Timer | undefined
  #opening: Promise<void> = Promise.resolve()
  #flushing: Promise<void> | undefined
  #hasStarted = false
  #isSynced = false
  #isStopped = false

  constructor(options: ProxyControlOptions) {
    this.#options = options
    const { client, clock, random, logger } = options
    const shared = { client, clock, random, logger, forgetsManagers: true }
    this.#services = new Informer({ ...shared, kind: Service })
    this.#slices = new Informer({ ...shared, kind: EndpointSlice })
    this.#secrets = new Informer({ ...shared, kind: Secret, fieldSelector: 'type=kubernetes.io/tls' })
    this.#slices.addIndex(serviceIndex, (slice) => [serviceOf(slice)])
  }

  service(namespace: string, name: string): V1Service | undefined {
    return this.#services.get(namespace, name)
  }

  certificate(secret: string): CertificatePair | undefined {
    const [namespace = '', name = ''] = secret.split('/')
    const object = this.#secrets.get(namespace, name)
    if (object === undefined) return undefined
    const known = this.#pairs.get(object)
    if (known !== undefined) return known
    const pair = pairIn(object)
    if (pair !== undefined) this.#pairs.set(object, pair)
    return pair
  }

  get spareAddresses(): readonly string[] {
    return this.#options.spare?.all ?? []
  }

  /** Whether services and secrets are known, so that what is missing is missing indeed. */
  get isSynced(): boolean {
    return this.#isSynced
  }

  /** Called when services or secrets have changed that somebody may refer to, or ports were opened. */
  onReferenceChange(callback: (changed: ReferenceChange) => void): void {
    this.#onReferenceChange.add(callback)
  }

  /** What it asks for is found out when it is its turn. */
  set(key: string, source: () => Steps<Source>): void {
    this.#pending.set(key, source)
    this.#begin()
    this.#soon()
  }

  delete(key: string): void {
    this.#pending.set(key, undefined)
    this.#soon()
  }

  /** What somebody wants opened, in place of what it wanted before. */
  listenFor(asker: string, wanted: readonly WantedListener[]): void {
    if (JSON.stringify(wanted) === JSON.stringify(this.#wanted.get(asker) ?? [])) return
    this.#wanted.set(asker, wanted)
    if (wanted.length > 0) this.#begin()
    this.#openPorts()
  }

  /** Why clients are not let in there; undefined where they are, or will be. */
  problemOf(listener: string): string | undefined {
    return this.#listeners?.problemOf(listener)
  }

  isOpen(listener: string): boolean {
    return this.#listeners?.isOpen(listener) ?? false
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#retry?.cancel()
    this.#telling?.cancel()
    for (const informer of [this.#services, this.#slices, this.#secrets]) informer.stop()
    await this.#opening
    await this.#flushing
    await this.#dataPlane?.stop(drainMs)
  }

  #begin(): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    const { clock, random, logger, hosts, spare } = this.#options
    this.#dataPlane = this.#options.startDataPlane()
    const fallback = selfSignedCertificate('Kubernetes Ingress Controller Fake Certificate', ['ingress.local'], {
      nowMs: clock.now(),
      random,
    })
    this.#listeners = new Listeners({ dataPlane: this.#dataPlane, hosts, fallback, logger, ...defined({ spare }) })
    const onService = (service: V1Service) => {
      if (this.#state.serviceChanged(keyOf(service))) this.#soon()
      if (this.#isSynced) this.#tell('services', keyOf(service), this.#state.askersOfService(keyOf(service)))
    }
    this.#services.addHandler({ onAdd: onService, onUpdate: onService, onDelete: onService })
    const onSlice = (slice: V1EndpointSlice) => {
      if (this.#state.serviceChanged(serviceOf(slice))) this.#soon()
    }
    this.#slices.addHandler({ onAdd: onSlice, onUpdate: (next, prev) => [prev, next].forEach(onSlice), onDelete: onSlice })
    const onSecret = (secret: V1Secret) => {
      if (this.#state.secretChanged(keyOf(secret))) this.#soon()
      if (this.#isSynced) this.#tell('secrets', keyOf(secret), this.#state.askersOfSecret(keyOf(secret)))
    }
    this.#secrets.addHandler({ onAdd: onSecret, onUpdate: onSecret, onDelete: onSecret })
    const informers = [this.#services, this.#slices, this.#secrets]
    for (const informer of informers) informer.start()
    void Promise.all(informers.map(({ synced }) => synced)).then(() => {
      this.#isSynced = true
      this.#flush()
      this.#openPorts()
      this.#tellAll()
    })
  }

  #tell(kind: 'services' | 'secrets', key: string, askers: Iterable<string>): void {
    const changed = this.#changedReferences
    changed?.[kind].add(key)
    for (const list of [askers, this.#pending.keys()]) for (const asker of list) changed?.askers.add(asker)
    this.#telling ??= this.#options.clock.after(gatherMs, () => {
      this.#telling = undefined
      const told = this.#changedReferences
      this.#changedReferences = noReferences()
      for (const callback of this.#onReferenceChange) callback(told)
    })
  }

  #tellAll(): void {
    this.#tell('services', '', [])
    this.#changedReferences = undefined
  }

  #soon(): void {
    if (!this.#isSynced || this.#isStopped) return
    this.#timer ??= this.#options.clock.after(gatherMs, () => this.#flush())
  }

  /** One after the other, and others have their turn in between. */
  #flush(): void {
    this.#timer = undefined
    if (this.#isStopped) return
    if (this.#flushing !== undefined) {
      this.#soon()
      return
    }
    const resolver = {
      backend: (reference: BackendReference) => this.#backendOf(reference),
      certificate: (secret: string) => this.certificate(secret),
    }
    const telling = async () => {
      try {
        await inTurns(this.#tellDataPlane(resolver), this.#options.clock)
      } catch (error) {
        this.#options.logger.error('failed to tell the ingress proxy what has changed', { error: errorMessage(error) })
      }
      this.#flushing = undefined
      // Others are not to wait for the one that went wrong.
      if (this.#pending.size > 0) this.#soon()
    }
    this.#flushing = telling()
  }

  *#tellDataPlane(resolver: Resolver): Steps<void> {
    for (const [key, source] of this.#pending) {
      this.#pending.delete(key)
      if (source === undefined) yield* this.#state.delete(key)
      else yield* this.#state.set(key, yield* source())
    }
    yield* this.#state.tell(resolver, (update) => this.#dataPlane?.apply(update))
  }

  #backendOf(reference: BackendReference): Backend {
    const { namespace, service } = reference
    const slices = this.#slices.byIndex(serviceIndex, `${namespace}/${service}`)
    return backendOfService(this.#services.get(namespace, service), slices, reference)
  }

  /** Nobody is let in before it is known where to lead them. */
  #openPorts(): void {
    if (!this.#isSynced || this.#isStopped) return
    const wanted = new Map([...this.#wanted.values()].flat().map((want) => [want.listener, want]))
    this.#opening = this.#opening.then(async () => {
      await this.#flushing
      if (this.#isStopped) return
      await this.#listeners?.bringAbout([...wanted.values()])
      this.#retry?.cancel()
      const isMissing = [...wanted.keys()].some((listener) => !this.isOpen(listener))
      if (isMissing) this.#retry = this.#options.clock.after(retryMs, () => this.#openPorts())
      this.#tellAll()
    })
  }
}

const noReferences = (): ReferenceNames => ({ services: new Set(), secrets: new Set(), askers: new Set() })

const serviceOf = ({ metadata }: V1EndpointSlice): string => `${metadata.namespace}/${metadata.labels?.[serviceNameLabel] ?? ''}`

function pairIn({ data }: V1Secret): CertificatePair | undefined {
  const { 'tls.crt': cert, 'tls.key': key } = data ?? {}
  if (!cert || !key || (cert.length + key.length) * 0.75 > mostPairBytes) return undefined
  return { cert: decoded(cert), key: decoded(key) }
}

const decoded = (text: string): string => Buffer.from(text, 'base64').toString('utf8')
