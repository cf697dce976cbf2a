import { comparableHost, HostIndex } from '#ingress/routing/host-index.ts'
import { type Route, type Site, siteKey } from '#ingress/routing/route.ts'
import { type MatchedRequest, SiteMatcher } from '#ingress/routing/site-matcher.ts'

type Listener = HostIndex<HostIndex<SiteMatcher>>

/** Which route a request takes: the listener with the most specific host, in it the site with the most specific host, in it the most specific route. */
export class RoutingTable {
  readonly #listeners = new Map<string, Listener>()
  readonly #sites = new Map<string, Site>()

  /** A site without routes is none, unless its listener has a host of its own: then what is for that host is nobody else's. */
  set(site: Site): void {
    this.delete(siteKey(site))
    if (site.routes.length === 0 && site.listenerHost === '') return
    this.#sites.set(siteKey(site), site)
    const listener = this.#listeners.get(site.listener) ?? new HostIndex()
    this.#listeners.set(site.listener, listener)
    const hosts = listener.get(site.listenerHost, 'labels') ?? new HostIndex<SiteMatcher>()
    listener.set(site.listenerHost, 'labels', hosts)
    hosts.set(site.host, site.wildcard, new SiteMatcher(site.routes.map((route) => ({ ...route, host: site.host }))))
  }

  delete(key: string): void {
    const site = this.#sites.get(key)
    if (site === undefined) return
    this.#sites.delete(key)
    const listener = this.#listeners.get(site.listener)
    const hosts = listener?.get(site.listenerHost, 'labels')
    hosts?.delete(site.host, site.wildcard)
    if (hosts?.isEmpty) listener?.delete(site.listenerHost, 'labels')
  }

  /** `host` as the client sent it. */
  find(listener: string, host: string, request: MatchedRequest): Route | undefined {
    const plain = comparableHost(host)
    return this.#listeners.get(listener)?.find(plain)?.find(plain)?.find(request)
  }
}
