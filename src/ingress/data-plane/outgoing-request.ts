import type { ClientExchange, Entrance, OutgoingRequest } from '#ingress/data-plane/exchange.ts'
import { withHeaderChanges, withPathChange } from '#ingress/routing/apply-changes.ts'
import type { HeaderChanges, Route, WeightedBackend } from '#ingress/routing/route.ts'

/** What a client says of where it came from is not believed: these are written anew. */
function isOurs(name: string): boolean {
  const first = name.charCodeAt(0) | 32
  if (first !== 120 && first !== 102) return false
  // Servers that make variables of headers take the one for the other.
  const lower = name.toLowerCase().replaceAll('_', '-')
  return lower.startsWith('x-forwarded-') || lower === 'x-real-ip' || lower === 'forwarded'
}

/** The request as the backend gets it. */
export function outgoingRequest(
  { request, entrance }: ClientExchange,
  target: string,
  route: Route,
  backend: WeightedBackend,
  isSecure: boolean,
): OutgoingRequest {
  const changes: readonly HeaderChanges[] | undefined =
    backend.requestHeaders === undefined ? route.requestHeaders : [...(route.requestHeaders ?? []), ...backend.requestHeaders]
  const rewrite = backend.rewrite ?? route.rewrite
  const headers = forwardedHeaders(request.headers, request.host, entrance)
  return {
    ...{ method: request.method, body: request.body, upgrade: upgradeOf(request.upgrade), takesTrailers: request.takesTrailers },
    target: rewrite === undefined ? target : withPathChange(target, rewrite.path, route),
    host: rewrite?.hostname ?? request.host,
    scheme: isSecure ? 'https' : 'http',
    headers: changes === undefined ? headers : withHeaderChanges(headers, changes),
  }
}

/** HTTP/2 within HTTP/1.1 would let a client ask the backend for what no route leads to. */
const upgradeOf = (upgrade: string | undefined): string | undefined =>
  upgrade !== undefined && /\bh2c?\b/i.test(upgrade) ? undefined : upgrade

function forwardedHeaders(given: readonly string[], host: string, { remoteAddress, scheme, port }: Entrance): string[] {
  const headers: string[] = []
  for (let at = 0; at < given.length; at += 2) {
    const name = given[at] ?? ''
    if (!isOurs(name)) headers.push(name, given[at + 1] ?? '')
  }
  headers.push('X-Forwarded-For', remoteAddress, 'X-Forwarded-Proto', scheme, 'X-Forwarded-Host', host)
  headers.push('X-Forwarded-Port', String(port), 'X-Real-IP', remoteAddress)
  return headers
}
