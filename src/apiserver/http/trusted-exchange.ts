import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { HttpExchange, HttpHeaders, HttpResponseStream, TakenConnection } from '#base/http-server.ts'

/** Everybody on the insecure port is the same user, who may do anything: upstream's name for him. */
export const unsecured = new TrustedConnection({ name: 'system:unsecured', groups: ['system:masters'], extra: {} })

/** A request over a port or socket without TLS or credentials: whoever can reach it is trusted. */
export class TrustedExchange implements HttpExchange {
  readonly #exchange: HttpExchange
  readonly method: string
  readonly target: string
  readonly headers: HttpExchange['headers']
  readonly rawHeaders: readonly string[]
  readonly httpVersion: HttpExchange['httpVersion']
  readonly connection: TrustedConnection

  constructor(exchange: HttpExchange, connection: TrustedConnection) {
    this.#exchange = exchange
    this.connection = connection
    this.method = exchange.method
    this.target = exchange.target
    this.headers = exchange.headers
    this.rawHeaders = exchange.rawHeaders
    this.httpVersion = exchange.httpVersion
  }

  get isClosed(): boolean {
    return this.#exchange.isClosed
  }
  readBody(limitBytes: number): Promise<Buffer> {
    return this.#exchange.readBody(limitBytes)
  }
  bodyPieces(): AsyncIterable<Uint8Array> {
    return this.#exchange.bodyPieces()
  }
  get takeOver(): (() => TakenConnection) | undefined {
    return this.#exchange.takeOver
  }
  onClose(callback: () => void): void {
    this.#exchange.onClose(callback)
  }
  respond(status: number, headers: HttpHeaders, body?: Uint8Array | string): void {
    this.#exchange.respond(status, headers, body)
  }
  breakOff(): void {
    this.#exchange.breakOff?.()
  }
  stream(status: number, headers: HttpHeaders): HttpResponseStream {
    return this.#exchange.stream(status, headers)
  }
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * A page from anywhere, opened in a browser on this machine, can send requests to a port of this machine too. It cannot choose
 * these two headers: the name it was reached by (which a hostile name server may point here), and where it comes from.
 */
export function isFromThisMachine({ headers }: Pick<HttpExchange, 'headers'>): boolean {
  const { host = '', origin } = headers
  return loopback.test(host) && (origin === undefined || loopback.test(origin.replace(/^https?:\/\//i, '')))
}
