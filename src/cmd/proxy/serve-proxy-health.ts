import { type HttpListener, listenHttp } from '#base/http-server.ts'
import type { Metrics } from '#base/metrics.ts'
import type { ProxyMode } from '#proxy/backend.ts'
import type { ProxyConfiguration } from '#proxy/configuration/proxy-configuration.ts'
import type { ProxyHealth } from '#proxy/health/proxy-health.ts'

/** `ADDRESS:PORT`, or a port alone. Undefined where nothing is to be served. */
export function listenAddress(text: string): { host: string; port: number } | undefined {
  if (text === '') return undefined
  const [, host = '', port = ''] = /^(?:(.*):)?(\d+)$/.exec(text) ?? []
  if (port === '') throw new Error(`${text} is not a valid address and port such as 127.0.0.1:10249`)
  return Number(port) === 0 ? undefined : { host: host.replace(/^\[|\]$/g, '') || '0.0.0.0', port: Number(port) }
}

export type ProxyServers = { configuration: ProxyConfiguration; mode: ProxyMode; metrics: Metrics; health: ProxyHealth }

/** Plain HTTP, as upstream's. */
export async function serveProxyHealth({ configuration, health }: ProxyServers): Promise<HttpListener | undefined> {
  const at = listenAddress(configuration.healthzBindAddress)
  return at && (await listenHttp({ ...at, onExchange: health.serve }))
}

export async function serveProxyMetrics({ configuration, mode, metrics }: ProxyServers): Promise<HttpListener | undefined> {
  const at = listenAddress(configuration.metricsBindAddress)
  const plain = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
  return (
    at &&
    (await listenHttp({
      ...at,
      onExchange(exchange) {
        const [path] = exchange.target.split('?')
        if (path === '/metrics') exchange.respond(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, metrics.text())
        else if (path === '/proxyMode') exchange.respond(200, plain, mode)
        else if (path === '/healthz') exchange.respond(200, plain, 'ok')
        else if (path === '/configz') {
          exchange.respond(200, { 'content-type': 'application/json' }, JSON.stringify({ 'kubeproxy.config.k8s.io': configuration }))
        } else exchange.respond(404, plain, '404 page not found\n')
      },
    }))
  )
}
