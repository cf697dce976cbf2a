/** The client's end of a WebSocket. */
import { type HttpClientOptions, tlsOptions } from '#base/http-client.ts'
import { tunnelAgent } from '#base/proxy-tunnel.ts'

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

function agentOf(url: string, options: HttpClientOptions) {
  const { proxyUrl } = options
  return proxyUrl === undefined ? {} : { agent: tunnelAgent(proxyUrl, url.startsWith('https:'), tlsOptions(options)) }
}

export async function openWebSocket(
  url: string,
  protocols: readonly string[],
  headers: Record<string, string | string[]>,
  options: HttpClientOptions,
): Promise<WebSocketClient> {
  const { WebSocket } = await import('ws')
  const socket = new WebSocket(url.replace(/^http/, 'ws'), [...protocols], {
    headers,
    perMessageDeflate: false,
    ...tlsOptions(options),
    ...agentOf(url, options),
  })
  // A quick server's first words, and its last, come with its answer: before anybody can listen.
  let onMessage: ((data: Uint8Array) => void) | undefined
  let onClose: ((code: number, reason: string) => void) | undefined
  const early: Uint8Array[] = []
  let closed: [code: number, reason: string] | undefined
  socket.on('message', (data: Buffer) => {
    if (onMessage === undefined) early.push(data)
    else onMessage(data)
  })
  socket.once('close', (code, reason) => {
    closed = [code, String(reason)]
    onClose?.(...closed)
  })
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
        onMessage(callback) {
          onMessage = callback
          for (const data of early.splice(0)) callback(data)
        },
        onClose(callback) {
          onClose = callback
          if (closed !== undefined) callback(...closed)
        },
        send: (data) => new Promise((sent, failed) => socket.send(data, (error) => (error ? failed(error) : sent()))),
        close: () => socket.close(),
      }),
    )
  })
}
