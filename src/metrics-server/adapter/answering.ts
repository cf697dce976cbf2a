import { statusOf } from '#api/meta/status-error.ts'
import type { HttpExchange } from '#base/http-server.ts'

/** Whoever calls has found out who asks, and that they may. What is thrown is answered as a Status. */
export function answering(answer: (exchange: HttpExchange, url: URL) => Promise<void>): (exchange: HttpExchange) => void {
  return (exchange) => {
    answer(exchange, new URL(exchange.target, 'https://metrics')).catch((error: unknown) => {
      const status = statusOf(error)
      respondJson(exchange, status.code ?? 500, { kind: 'Status', apiVersion: 'v1', metadata: {}, ...status })
    })
  }
}

export function respondJson(exchange: HttpExchange, code: number, value: object): void {
  exchange.respond(code, { 'content-type': 'application/json' }, JSON.stringify(value))
}

export function respondNothing(exchange: HttpExchange): void {
  exchange.respond(404, { 'content-type': 'text/plain; charset=utf-8' }, '404 page not found\n')
}
