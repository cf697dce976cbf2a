import { type BackendReference, backendKey, type CertificateReference, type Source } from '#ingress/controller/source.ts'
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

/** Who asks for one thing, and what was last sent of it. */
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

  get isEmpty(): boolean {
    return this.#sources.size === 0
  }

  set(key: string, source: Source): void {
    this.delete(key)
    this.#sources.set(key, source)
    for (const site of source.sites) ask(this.#sites, this.#dirtySites, siteKey(site), key, site)
    for (const backend of source.backends) {
      ask(this.#backends, this.#dirtyBackends, backendKey(backend), key, backend)
      link(this.#byService, `${backend.namespace}/${backend.service}`, backendKey(backend))
    }
    for (const certificate of source.certificates) {
      ask(this.#certificates, this.#dirtyCertificates, certificateKey(certificate), key, certificate)
      link(this.#bySecret, certificate.secret, certificateKey(certificate))
      this.#dirtySecrets.add(certificate.secret)
    }
  }

  delete(key: string): void {
    const source = this.#sources.get(key)
    if (source === undefined) return
    this.#sources.delete(key)
    for (const site of source.sites) leave(this.#sites, this.#dirtySites, siteKey(site), key)
    for (const backend of source.backends) {
      const isLast = leave(this.#backends, this.#dirtyBackends, backendKey(backend), key)
      if (isLast) unlink(this.#byService, `${backend.namespace}/${backend.service}`, backendKey(backend))
    }
    for (const certificate of source.certificates) {
      leave(this.#certificates, this.#dirtyCertificates, certificateKey(certificate), key)
      const others = this.#certificates.get(certificateKey(certificate))?.askers.values() ?? []
      if (![...others].some(({ secret }) => secret === certificate.secret))
        unlink(this.#bySecret, certificate.secret, certificateKey(certificate))
      this.#dirtySecrets.add(certificate.secret)
    }
  }

  /** The service or its endpoints have changed. True where that matters. */
  serviceChanged(service: string): boolean {
    return markAll(this.#byService.get(service), this.#dirtyBackends)
  }

  secretChanged(secret: string): boolean {
    if (this.#bySecret.has(secret)) this.#dirtySecrets.add(secret)
    return markAll(this.#bySecret.get(secret), this.#dirtyCertificates)
  }

  /** Undefined where nothing has changed. */
  takeUpdate(resolver: Resolver): ProxyUpdate | undefined {
    const sites: Site[] = []
    const removedSites: string[] = []
    take(this.#sites, this.#dirtySites, mergedSite, (key, site) => (site === undefined ? removedSites.push(key) : sites.push(site)))
    const backends: [string, Backend][] = []
    const removedBackends: string[] = []
    const resolved = (askers: readonly BackendReference[]) => askers[0] && resolver.backend(askers[0])
    take(this.#backends, this.#dirtyBackends, resolved, (key, backend) => {
      if (backend === undefined) removedBackends.push(key)
      else backends.push([key, backend])
    })
    const certificates: SiteCertificate[] = []
    const removedCertificates: { listener: string; host: string }[] = []
    const opened = (askers: readonly CertificateReference[]) => certificateOf(askers, resolver)
    take(this.#certificates, this.#dirtyCertificates, opened, (key, certificate) => {
      const [listener = '', host = ''] = key.split(' ')
      if (certificate === undefined) removedCertificates.push({ listener, host })
      else certificates.push(certificate)
    })
    const { pairs, removedPairs } = this.#takePairs(resolver)
    const update = { sites, removedSites, backends, removedBackends, pairs, removedPairs, certificates, removedCertificates }
    return Object.values(update).some(({ length }) => length > 0) ? update : undefined
  }

  #takePairs({ certificate }: Resolver): Pick<ProxyUpdate, 'pairs' | 'removedPairs'> {
    const pairs: [string, CertificatePair][] = []
    const removedPairs: string[] = []
    for (const secret of this.#dirtySecrets) {
      const before = this.#pairs.get(secret)
      const pair = this.#bySecret.has(secret) ? certificate(secret) : undefined
      if (pair?.cert === before?.cert && pair?.key === before?.key) continue
      if (pair === undefined) {
        this.#pairs.delete(secret)
        removedPairs.push(secret)
      } else {
        this.#pairs.set(secret, pair)
        pairs.push([secret, pair])
      }
    }
    this.#dirtySecrets.clear()
    return { pairs, removedPairs }
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
function take<T, R>(
  all: Map<string, Shared<T>>,
  dirty: Set<string>,
  make: (askers: readonly T[]) => R | undefined,
  tell: (key: string, result: R | undefined) => void,
): void {
  for (const key of dirty) {
    const shared = all.get(key)
    if (shared === undefined) continue
    const result = shared.askers.size === 0 ? undefined : make([...shared.askers.values()])
    const text = result === undefined ? '' : JSON.stringify(result)
    if (shared.askers.size === 0) all.delete(key)
    if (text === shared.sent) continue
    shared.sent = text
    tell(key, result)
  }
  dirty.clear()
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
