/** The client's end of a WebSocket. */
import { type HttpClientOptions, tlsOptions } from '#base/http-client.ts'

export type WebSocketClient = {
  /** What the server chose among the offered ones. */
  readonly protocol: string
  onMessage(callback: (data: Uint8Array) => void): void
  /** Called once, whoever ended it. */
  onClose(callback: (code: number, reason: string) => void): void
  /** Resolves when the connection has taken it. */
  send(data: Uint8Array): Promise<void>
  close(): void
}

/** The server did not switch protocols. */
export class NoWebSocket extends Error {
  override name = 'NoWebSocket'
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    super(`the server answered with ${status}`)
    this.status = status
    this.body = body
  }
}

export async function openWebSocket(
  url: string,
  protocols: readonly string[],
  headers: Record<string, string | string[]>,
  options: HttpClientOptions,
): Promise<WebSocketClient> {
  const { WebSocket } = await import('ws')
  const socket = new WebSocket(url.replace(/^http/, 'ws'), [...protocols], { headers, perMessageDeflate: false, ...tlsOptions(options) })
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('unexpected-response', (_request, response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        body += piece
      })
      response.on('end', () => reject(new NoWebSocket(response.statusCode ?? 0, body)))
    })
    socket.on('open', () =>
      resolve({
        protocol: socket.protocol,
        onMessage: (callback) => void socket.on('message', (data: Buffer) => callback(data)),
        onClose: (callback) => void socket.once('close', (code, reason) => callback(code, String(reason))),
        send: (data) => new Promise((sent, failed) => socket.send(data, (error) => (error ? failed(error) : sent()))),
        close: () => socket.close(),
      }),
    )
  })
}
