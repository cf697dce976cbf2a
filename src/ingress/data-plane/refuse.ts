import type { ClientExchange } from '#ingress/data-plane/exchange.ts'

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  414: 'URI Too Long',
  421: 'Misdirected Request',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

const redirects: Readonly<Record<number, string>> = {
  301: 'Moved Permanently',
  303: 'See Other',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
}

/** As clients of gRPC are told what HTTP says by its status. */
const grpcStatuses: Readonly<Record<number, number>> = { 400: 13, 404: 12, 421: 12, 500: 14, 502: 14, 503: 14, 504: 4 }

/** Answers in place of a backend. */
export function refuse(exchange: ClientExchange, status: number, message: string): void {
  if (isGrpc(exchange)) {
    const headers = ['content-type', 'application/grpc', 'grpc-status', String(grpcStatuses[status] ?? 2), 'grpc-message', message]
    exchange.begin({ status: 200, reason: 'OK', headers, body: 'none' })
    exchange.end([])
    return
  }
  const body = Buffer.from(`${message}\n`)
  const isHead = exchange.request.method === 'HEAD'
  exchange.begin({
    ...{ status, reason: reasons[status] ?? '', body: isHead ? 'none' : body.length },
    headers: ['Content-Type', 'text/plain; charset=utf-8'],
  })
  if (!isHead) exchange.write(body)
  exchange.end([])
}

export function redirect(exchange: ClientExchange, status: number, location: string): void {
  exchange.begin({ status, reason: redirects[status] ?? 'Found', headers: ['Location', location], body: 0 })
  exchange.end([])
}

function isGrpc({ request: { headers, httpVersion } }: ClientExchange): boolean {
  if (httpVersion !== '2') return false
  return (headerOf(headers, 'content-type') ?? '').startsWith('application/grpc')
}

/** Several of one name are joined by commas. */
export function headerOf(headers: readonly string[], lowerName: string): string | undefined {
  let found: string | undefined
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    if (name.length !== lowerName.length || name.toLowerCase() !== lowerName) continue
    found = found === undefined ? (headers[at + 1] ?? '') : `${found},${headers[at + 1]}`
  }
  return found
}
