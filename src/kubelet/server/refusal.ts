import type { HttpExchange } from '#base/http-server.ts'

/** An answer other than the one asked for, in plain text as kubelets give it. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export function respondText(exchange: HttpExchange, code: number, text: string): void {
  exchange.respond(code, { 'content-type': 'text/plain; charset=utf-8' }, text)
}

export function respondJson(exchange: HttpExchange, value: unknown): void {
  exchange.respond(200, { 'content-type': 'application/json' }, JSON.stringify(value))
}
