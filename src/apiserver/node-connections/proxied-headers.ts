/** Which headers go through a proxy, and which speak of one hop alone. */
import { webSocketProtocolsWithoutToken } from '#apiserver/authn/bearer-token.ts'
import type { HttpExchange, HttpHeaders } from '#base/http-server.ts'

const ofOneHop = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Who the client is, or would like to be, was said to this server alone. */
const ofTheClient = /^(?::.*|authorization|impersonate-.*|x-remote-.*)$/

const crossOrigin = [
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
]

export function isUpgradeRequest({ headers }: Pick<HttpExchange, 'headers'>): boolean {
  return /\bupgrade\b/i.test(headers.connection ?? '')
}

/** The client's headers as another server is sent them, repeated ones repeated; an upgrade that was asked for is asked for again. */
export function passedHeaders(exchange: HttpExchange): Record<string, string | string[]> {
  const { headers, rawHeaders, connection } = exchange
  const passed = gathered(rawHeaders, headers.connection, (name) => ofTheClient.test(name))
  const host = headers.host ?? (headers[':authority'] as string | undefined)
  if (host !== undefined) passed['host'] = host
  const before = headers['x-forwarded-for']
  passed['x-forwarded-for'] = before === undefined ? connection.remoteAddress : `${before}, ${connection.remoteAddress}`
  if (isUpgradeRequest(exchange)) {
    passed['connection'] = 'Upgrade'
    passed['upgrade'] = headers.upgrade ?? ''
    if (headers['sec-websocket-protocol'] !== undefined) {
      passed['sec-websocket-protocol'] = webSocketProtocolsWithoutToken(exchange).join(', ')
    }
  }
  return passed
}

/** The other server's headers as the client is sent them. */
export function answeredHeaders(rawHeaders: readonly string[], connection: string | undefined): HttpHeaders {
  return gathered(rawHeaders, connection, () => false)
}

function gathered(
  rawHeaders: readonly string[],
  connection: string | undefined,
  isDropped: (name: string) => boolean,
): Record<string, string | string[]> {
  const ofConnection = new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  const passed: Record<string, string | string[]> = {}
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase()
    const value = rawHeaders[index + 1] ?? ''
    if (ofOneHop.has(name) || ofConnection.has(name) || isDropped(name)) continue
    const known = passed[name]
    passed[name] = known === undefined ? value : [known, value].flat()
  }
  return passed
}

/** Pages of pods are shown under this server's own name: whom they trust is not whom it trusts. */
export function withoutCrossOrigin(headers: HttpHeaders): HttpHeaders {
  for (const name of crossOrigin) delete headers[name]
  return headers
}
