import type { ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import { seriesKey } from '#ingress/data-plane/proxy-metrics.ts'
import { type Site, siteKey } from '#ingress/routing/route.ts'

const namesOf = ({ routes }: Site): Set<string> => new Set(routes.map(({ name }) => name))

/** The sum of updates, and which routes are at which hosts by it. */
export class ProxyConfiguration {
  readonly #sites = new Map<string, ProxyUpdate['sites'][number]>()
  readonly #backends = new Map<string, ProxyUpdate['backends'][number]>()
  readonly #pairs = new Map<string, ProxyUpdate['pairs'][number]>()
  readonly #certificates = new Map<string, ProxyUpdate['certificates'][number]>()
  /** By name of the route and host: at how many sites it is. */
  readonly #places = new Map<string, number>()

  /** Whether the route is at the host. */
  has(route: string, host: string): boolean {
    return this.#places.has(seriesKey(route, host))
  }

  /** The routes that are no more, with the host they were at. */
  add(update: ProxyUpdate): { name: string; host: string }[] {
    const left: { name: string; host: string }[] = []
    for (const site of update.sites) {
      for (const name of namesOf(site)) this.#count(name, site.host, 1)
      left.push(...this.#leave(siteKey(site)))
      this.#sites.set(siteKey(site), site)
    }
    for (const key of update.removedSites) left.push(...this.#leave(key))
    for (const entry of update.backends) this.#backends.set(entry[0], entry)
    for (const key of update.removedBackends) this.#backends.delete(key)
    for (const entry of update.pairs) this.#pairs.set(entry[0], entry)
    for (const secret of update.removedPairs) this.#pairs.delete(secret)
    for (const each of update.certificates) this.#certificates.set(`${each.listener} ${each.host}`, each)
    for (const { listener, host } of update.removedCertificates) this.#certificates.delete(`${listener} ${host}`)
    return left
  }

  #leave(key: string): { name: string; host: string }[] {
    const site = this.#sites.get(key)
    this.#sites.delete(key)
    if (site === undefined) return []
    const gone = [...namesOf(site)].filter((name) => this.#count(name, site.host, -1) === 0)
    return gone.map((name) => ({ name, host: site.host }))
  }

  #count(name: string, host: string, by: number): number {
    const key = seriesKey(name, host)
    const count = (this.#places.get(key) ?? 0) + by
    if (count === 0) this.#places.delete(key)
    else this.#places.set(key, count)
    return count
  }

  everything(): ProxyUpdate {
    return {
      ...{ sites: [...this.#sites.values()], backends: [...this.#backends.values()] },
      ...{ pairs: [...this.#pairs.values()], certificates: [...this.#certificates.values()] },
      ...{ removedSites: [], removedBackends: [], removedPairs: [], removedCertificates: [] },
    }
  }
}
