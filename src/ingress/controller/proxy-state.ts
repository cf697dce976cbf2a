import type { Steps } from '#base/steps.ts'
import { fingerprintOf, fingerprintOfSite } from '#ingress/controller/fingerprints.ts'
import { type BackendReference, backendKey, type CertificateReference, type Source } from '#ingress/controller/source.ts'
import { UpdatePieces } from '#ingress/controller/update-pieces.ts'
import type { Backend } from '#ingress/data-plane/backend.ts'
import type { CertificatePair, SiteCertificate } from '#ingress/data-plane/certificate-table.ts'
import type { ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import { type Site, siteKey } from '#ingress/routing/route.ts'

/** What the proxy cannot know by itself. */
export type Resolver = {
  backend(reference: BackendReference): Backend
  /** Undefined where there is no such secret, or it holds no certificate. */
  certificate(secret: string): CertificatePair | undefined
}

/** Who asks for one thing, and the fingerprint of what was last sent of it. */
type Shared<T> = { readonly askers: Map<string, T>; sent: string }

const certificateKey = ({ listener, host }: Pick<CertificateReference, 'listener' | 'host'>): string => `${listener} ${host}`

/** What all sources together ask of the proxy, as differences to what it was last told. */
export class ProxyState {
  readonly #sources = new Map<string, Source>()
  readonly #sites = new Map<string, Shared<Site>>()
  readonly #backends = new Map<string, Shared<BackendReference>>()
  readonly #certificates = new Map<string, Shared<CertificateReference>>()
  /** What was last sent, by secret: once, however many hosts show it. */
  readonly #pairs = new Map<string, CertificatePair>()
  /** Which of them a service or a secret decides. */
  readonly #byService = new Map<string, Set<string>>()
  readonly #bySecret = new Map<string, Set<string>>()
  readonly #dirtySites = new Set<string>()
  readonly #dirtyBackends = new Set<string>()
  readonly #dirtyCertificates = new Set<string>()
  readonly #dirtySecrets = new Set<string>()

  /** The service or its endpoints have changed. True where that matters. */
  serviceChanged(service: string): boolean {
    return markAll(this.#byService.get(service), this.#dirtyBackends)
  }

  secretChanged(secret: string): boolean {
    if (this.#bySecret.has(secret)) this.#dirtySecrets.add(secret)
    return markAll(this.#bySecret.get(secret), this.#dirtyCertificates)
  }

  /** Between two steps what was asked before and what is asked now may both be there, never neither. */
  *set(key: string, source: Source): Steps<void> {
    const before = this.#sources.get(key)
    this.#sources.set(key, source)
    const kept = new Set<string>()
    for (const site of source.sites) {
      ask(this.#sites, this.#dirtySites, siteKey(site), key, site)
      kept.add(`site ${siteKey(site)}`)
      yield
    }
    for (const backend of source.backends) {
      ask(this.#backends, this.#dirtyBackends, backendKey(backend), key, backend)
      link(this.#byService, `${backend.namespace}/${backend.service}`, backendKey(backend))
      kept.add(`backend ${backendKey(backend)}`)
      yield
    }
    for (const certificate of source.certificates) {
      ask(this.#certificates, this.#dirtyCertificates, certificateKey(certificate), key, certificate)
      link(this.#bySecret, certificate.secret, certificateKey(certificate))
      this.#dirtySecrets.add(certificate.secret)
      kept.add(`certificate ${certificateKey(certificate)}`)
      yield
    }
    if (before !== undefined) yield* this.#leave(key, before, kept)
  }

  *delete(key: string): Steps<void> {
    const source = this.#sources.get(key)
    this.#sources.delete(key)
    if (source !== undefined) yield* this.#leave(key, source, new Set())
  }

  *#leave(key: string, source: Source, kept: ReadonlySet<string>): Steps<void> {
    for (const site of source.sites) {
      if (!kept.has(`site ${siteKey(site)}`)) leave(this.#sites, this.#dirtySites, siteKey(site), key)
      yield
    }
    for (const backend of source.backends) {
      if (kept.has(`backend ${backendKey(backend)}`)) continue
      const isLast = leave(this.#backends, this.#dirtyBackends, backendKey(backend), key)
      if (isLast) unlink(this.#byService, `${backend.namespace}/${backend.service}`, backendKey(backend))
      yield
    }
    for (const certificate of source.certificates) {
      const own = certificateKey(certificate)
      if (!kept.has(`certificate ${own}`)) leave(this.#certificates, this.#dirtyCertificates, own, key)
      const others = this.#certificates.get(own)?.askers.values() ?? []
      if (![...others].some(({ secret }) => secret === certificate.secret)) unlink(this.#bySecret, certificate.secret, own)
      this.#dirtySecrets.add(certificate.secret)
      yield
    }
  }

  /** Who asks for something of the service. */
  *askersOfService(service: string): Iterable<string> {
    for (const key of this.#byService.get(service) ?? []) yield* this.#backends.get(key)?.askers.keys() ?? []
  }

  *askersOfSecret(secret: string): Iterable<string> {
    for (const key of this.#bySecret.get(secret) ?? []) yield* this.#certificates.get(key)?.askers.keys() ?? []
  }

  /** Tells what has changed since the last time, whom a route leads to before the route. What changes meanwhile is told now or the next time. */
  *tell(resolver: Resolver, apply: (update: ProxyUpdate) => void): Steps<void> {
    const pieces = new UpdatePieces(apply)
    const resolved = (askers: readonly BackendReference[]) => askers[0] && resolver.backend(askers[0])
    yield* take(this.#backends, this.#dirtyBackends, resolved, plainFingerprint, (key, backend) =>
      pieces.add('backends', key, backend, 1 + (backend?.endpoints.length ?? 0)),
    )
    for (const secret of this.#dirtySecrets) {
      this.#dirtySecrets.delete(secret)
      const before = this.#pairs.get(secret)
      const pair = this.#bySecret.has(secret) ? resolver.certificate(secret) : undefined
      if (pair?.cert === before?.cert && pair?.key === before?.key) continue
      if (pair === undefined) this.#pairs.delete(secret)
      else this.#pairs.set(secret, pair)
      pieces.add('pairs', secret, pair, 10)
      yield
    }
    const opened = (askers: readonly CertificateReference[]) => certificateOf(askers, resolver)
    yield* take(this.#certificates, this.#dirtyCertificates, opened, plainFingerprint, (key, certificate) =>
      pieces.add('certificates', key, certificate),
    )
    yield* take(this.#sites, this.#dirtySites, mergedSite, fingerprintOfSite, (key, site) =>
      pieces.add('sites', key, site, 1 + (site?.routes.length ?? 0)),
    )
    pieces.finish()
  }
}

function ask<T>(all: Map<string, Shared<T>>, dirty: Set<string>, key: string, asker: string, wish: T): void {
  const shared = all.get(key) ?? { askers: new Map(), sent: '' }
  all.set(key, shared)
  shared.askers.set(asker, wish)
  dirty.add(key)
}

/** True where nobody else asks for it. */
function leave<T>(all: Map<string, Shared<T>>, dirty: Set<string>, key: string, asker: string): boolean {
  const askers = all.get(key)?.askers
  askers?.delete(asker)
  dirty.add(key)
  return askers === undefined || askers.size === 0
}

function unlink(index: Map<string, Set<string>>, from: string, to: string): void {
  const known = index.get(from)
  known?.delete(to)
  if (known?.size === 0) index.delete(from)
}

function link(index: Map<string, Set<string>>, from: string, to: string): void {
  const known = index.get(from)
  if (known === undefined) index.set(from, new Set([to]))
  else known.add(to)
}

function markAll(keys: ReadonlySet<string> | undefined, dirty: Set<string>): boolean {
  for (const key of keys ?? []) dirty.add(key)
  return keys !== undefined && keys.size > 0
}

/** Tells of each that is another than what was last sent; undefined where it is no more. */
function* take<T, R>(
  all: Map<string, Shared<T>>,
  dirty: Set<string>,
  make: (askers: readonly T[]) => R | undefined,
  fingerprint: (result: R) => Steps<string>,
  tell: (key: string, result: R | undefined) => void,
): Steps<void> {
  for (const key of dirty) {
    // Whoever changes it from here on makes it dirty again.
    dirty.delete(key)
    const shared = all.get(key)
    if (shared === undefined) continue
    if (shared.askers.size === 0) all.delete(key)
    const result = shared.askers.size === 0 ? undefined : make([...shared.askers.values()])
    const text = result === undefined ? '' : yield* fingerprint(result)
    if (text === shared.sent) continue
    shared.sent = text
    tell(key, result)
    yield
  }
}

// biome-ignore lint/correctness/useYield: one step, as long ones have several.
function* plainFingerprint(value: unknown): Steps<string> {
  return fingerprintOf(value)
}

function mergedSite(askers: readonly Site[]): Site | undefined {
  const [first] = askers
  return first && { ...first, routes: askers.flatMap(({ routes }) => routes) }
}

function certificateOf(askers: readonly CertificateReference[], resolver: Resolver): SiteCertificate | undefined {
  for (const { listener, host, secret } of [...askers].sort((one, other) => (one.order < other.order ? -1 : 1))) {
    if (resolver.certificate(secret) !== undefined) return { listener, host, secret }
  }
  return undefined
}
