const isWild = (host: string): boolean => host.startsWith('*.')
/** Whether the wildcard stands for the host, which has at least one label more, or is a longer wildcard. */
const covers = (wild: string, host: string): boolean => host.length > wild.length - 1 && host.endsWith(wild.slice(1))

/** The hosts that are a listener's and a route's; undefined where there is none. Empty is any. */
function commonHost(listener: string, route: string): string | undefined {
  if (listener === '' || listener === route) return route
  if (route === '') return listener
  if (isWild(listener) && covers(listener, route)) return route
  if (isWild(route) && covers(route, listener)) return listener
  return undefined
}

/** Those of a route that a listener has too. A route without hosts has all of the listener's. */
export function commonHosts(listener: string | undefined, route: readonly string[] | undefined): string[] {
  const [own, asked] = [(listener ?? '').toLowerCase(), route?.length ? route : ['']]
  return [...new Set(asked.flatMap((host) => commonHost(own, host.toLowerCase()) ?? []))]
}
