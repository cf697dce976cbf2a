/** Headers as HTTP/2 has them, and as lists of name, value, name, value. */
import type { Http2Headers, OutgoingHttp2Headers } from '#base/http2-sessions.ts'

/** HTTP/2 has no headers for one connection; Node throws where it is to send one. Whether trailers are taken is told apart. */
const forbidden: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'http2-settings', 'te', 'host'],
])

export function http2HeadersOf(list: readonly string[], first: OutgoingHttp2Headers): OutgoingHttp2Headers {
  // Without what every object has: a client may call its header `constructor`.
  const headers: OutgoingHttp2Headers = Object.assign(Object.create(null), first)
  for (let at = 0; at < list.length; at += 2) {
    const name = (list[at] ?? '').toLowerCase()
    const value = list[at + 1] ?? ''
    if (forbidden.has(name)) continue
    const before = headers[name]
    if (before === undefined) headers[name] = value
    // Some may come once only; where they come twice the first counts.
    else if (Array.isArray(before)) before.push(value)
    else if (!single.has(name)) headers[name] = [String(before), value]
  }
  return headers
}

const single: ReadonlySet<string> = new Set(
  'age authorization access-control-allow-credentials access-control-max-age access-control-request-method content-encoding content-language content-length content-location content-md5 content-range content-type date dnt etag expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent x-content-type-options'.split(
    ' ',
  ),
)

export function headersOfHttp2(headers: Http2Headers, left: readonly string[] = []): string[] {
  const list: string[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(':') || value === undefined || left.includes(name)) continue
    if (Array.isArray(value)) for (const each of value) list.push(name, each)
    else list.push(name, value)
  }
  return list
}
