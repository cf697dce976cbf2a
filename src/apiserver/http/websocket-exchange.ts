/** Watches and logs over a WebSocket, for clients that cannot read an answer piece by piece: each event, or each piece, is a message. */
import { webSocketProtocolsWithoutToken } from '#apiserver/authn/bearer-token.ts'
import { requestInfo } from '#apiserver/http/request-info.ts'
import type { HttpExchange, HttpHeaders, HttpResponseStream, TakenConnection } from '#base/http-server.ts'
import { acceptWebSocket, type WebSocketConnection } from '#base/websocket-server.ts'

/** The exchange itself, unless it asks for a watch or for logs over a WebSocket. */
export function overWebSocket(exchange: HttpExchange): HttpExchange {
  const { takeOver, headers, method, target } = exchange
  if (takeOver === undefined || headers.upgrade?.toLowerCase() !== 'websocket') return exchange
  const [path = '', query] = target.split('?', 2)
  const { verb, resource, subresource } = requestInfo(method, path, new URLSearchParams(query))
  if (verb === 'watch') return new WebSocketExchange(exchange, takeOver, 'lines')
  return resource === 'pods' && subresource === 'log' ? new WebSocketExchange(exchange, takeOver, 'pieces') : exchange
}

const mostBacklogBytes = 1 << 20
const newline = 0x0a

class WebSocketExchange implements HttpExchange {
  readonly #exchange: HttpExchange
  readonly #takeOver: () => TakenConnection
  readonly #messages: 'lines' | 'pieces'
  #taken: TakenConnection | undefined
  readonly method: string
  readonly target: string
  readonly headers: HttpExchange['headers']
  readonly rawHeaders: readonly string[]
  readonly httpVersion: HttpExchange['httpVersion']
  readonly connection: HttpExchange['connection']

  constructor(exchange: HttpExchange, takeOver: () => TakenConnection, messages: 'lines' | 'pieces') {
    this.#exchange = exchange
    this.#takeOver = takeOver
    this.#messages = messages
    this.method = exchange.method
    this.target = exchange.target
    this.headers = exchange.headers
    this.rawHeaders = exchange.rawHeaders
    this.httpVersion = exchange.httpVersion
    this.connection = exchange.connection
  }

  get isClosed(): boolean {
    return this.#taken?.socket.destroyed ?? this.#exchange.isClosed
  }
  readBody(limitBytes: number): Promise<Buffer> {
    return this.#exchange.readBody(limitBytes)
  }
  bodyPieces(): AsyncIterable<Uint8Array> {
    return this.#exchange.bodyPieces()
  }
  onClose(callback: () => void): void {
    if (this.#taken !== undefined) this.#taken.socket.once('close', callback)
    else this.#exchange.onClose(callback)
  }
  respond(status: number, headers: HttpHeaders, body?: Uint8Array | string): void {
    this.#exchange.respond(status, headers, body)
  }
  breakOff(): void {
    this.#exchange.breakOff?.()
  }

  stream(status: number, headers: HttpHeaders): HttpResponseStream {
    if (status !== 200) return this.#exchange.stream(status, headers)
    const taken = this.#takeOver()
    this.#taken = taken
    const protocol = webSocketProtocolsWithoutToken(this)[0] ?? ''
    const stream = new MessageStream(taken, this.#messages === 'lines', protocol === 'base64.binary.k8s.io')
    acceptWebSocket(taken, protocol).then(stream.begin, () => taken.socket.destroy())
    return stream
  }
}

class MessageStream implements HttpResponseStream {
  readonly #taken: TakenConnection
  readonly #isLines: boolean
  readonly #isBase64: boolean
  readonly #drained: (() => void)[] = []
  #webSocket: WebSocketConnection | undefined
  /** What was written before the client and we had agreed. */
  #waiting: Uint8Array[] = []
  #rest: Uint8Array = new Uint8Array(0)
  #hasEnded = false
  #isBehind = false

  constructor(taken: TakenConnection, isLines: boolean, isBase64: boolean) {
    this.#taken = taken
    this.#isLines = isLines
    this.#isBase64 = isBase64
  }

  begin = (webSocket: WebSocketConnection): void => {
    this.#webSocket = webSocket
    // Logs begin with an empty message: the client knows that it is listened to.
    if (!this.#isLines) webSocket.send(this.#isBase64 ? '' : new Uint8Array(0))
    for (const chunk of this.#waiting.splice(0)) this.#send(chunk, webSocket)
    if (this.#hasEnded) webSocket.close()
  }

  get backlogBytes(): number {
    return this.#webSocket?.backlogBytes ?? this.#waiting.reduce((sum, { length }) => sum + length, 0)
  }

  write(chunk: Uint8Array | string): boolean {
    // Chunks may be used anew once they were sent, and messages are sent later.
    const bytes = Buffer.from(chunk as Uint8Array)
    if (this.#webSocket === undefined) this.#waiting.push(bytes)
    else this.#send(bytes, this.#webSocket)
    if (this.backlogBytes < mostBacklogBytes) return true
    if (!this.#isBehind) {
      this.#isBehind = true
      this.#webSocket?.onSent(() => {
        this.#isBehind = false
        for (const callback of this.#drained) callback()
      })
    }
    return false
  }

  #send(bytes: Uint8Array, webSocket: WebSocketConnection): void {
    if (!this.#isLines) {
      webSocket.send(this.#isBase64 ? Buffer.from(bytes).toString('base64') : bytes)
      return
    }
    let left: Uint8Array = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    for (let end = left.indexOf(newline); end >= 0; end = left.indexOf(newline)) {
      webSocket.send(Buffer.from(left.subarray(0, end)).toString('utf8'))
      left = left.subarray(end + 1)
    }
    this.#rest = left
  }

  onDrain(callback: () => void): void {
    this.#drained.push(callback)
  }
  end(): void {
    this.#hasEnded = true
    this.#webSocket?.close()
  }
  abort(): void {
    this.#taken.socket.destroy()
  }
}
