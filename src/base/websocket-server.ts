/** The server's end of a WebSocket, on a connection that a client wants to use as one. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { FrameAllowance, unreadBytes } from '#base/frame-limits.ts'
import type { TakenConnection } from '#base/http-server.ts'

export type WebSocketConnection = {
  /** Text comes as its bytes. */
  onMessage(callback: (data: Uint8Array, isText: boolean) => void): void
  /** Called once, whoever ended it. */
  onClose(callback: () => void): void
  /** Bytes not taken by the connection yet: who writes on is behind the client. */
  readonly backlogBytes: number
  send(data: Uint8Array | string): void
  /** Called when all that was sent so far has been taken by the connection. */
  onSent(callback: () => void): void
  /** Holds the client back. */
  pause(): void
  resume(): void
  close(code?: number): void
}

/** More than any client sends in one message. */
const largestMessageBytes = 32 << 20

/** Answers the upgrade; rejects when the client is gone, or when it is no proper one, having said so to the client. An empty `protocol` is not named in the answer. */
export async function acceptWebSocket({ request, socket, head }: TakenConnection, protocol: string): Promise<WebSocketConnection> {
  const { WebSocketServer } = await import('ws')
  // The library would drop it without a word.
  if (socket.destroyed || !socket.readable || !socket.writable) throw new Error('the client went away')
  const server = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: largestMessageBytes },
    // The library would answer each ping, whether or not the client takes answers.
    autoPong: false,
  })
  // The library refuses names with a slash, which some of ours have; so it does not get to see them.
  const { 'sec-websocket-protocol': _protocols, ...headers } = request.headers
  const shown = Object.create(request, { headers: { value: headers } }) as IncomingMessage
  server.on('headers', (lines: string[]) => {
    if (protocol !== '') lines.push(`Sec-WebSocket-Protocol: ${protocol}`)
  })
  return new Promise((resolve, reject) => {
    server.on('wsClientError', (error, stream: Duplex) => {
      stream.end(`HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n${error.message}`)
      reject(error)
    })
    server.handleUpgrade(shown, socket, head, (webSocket) => {
      webSocket.on('error', () => webSocket.terminate())
      const allowance = new FrameAllowance()
      webSocket.on('ping', (data: Buffer) => {
        if (!allowance.takesOne()) webSocket.terminate()
        else if (webSocket.bufferedAmount < unreadBytes) webSocket.pong(data)
      })
      resolve({
        onMessage: (callback) => void webSocket.on('message', (data: Buffer, isBinary: boolean) => callback(data, !isBinary)),
        onClose: (callback) => void webSocket.once('close', callback),
        get backlogBytes() {
          return webSocket.bufferedAmount
        },
        send(data) {
          if (webSocket.readyState === webSocket.OPEN) webSocket.send(data)
        },
        onSent(callback) {
          if (socket.writableLength === 0) callback()
          else socket.once('drain', callback)
        },
        pause: () => webSocket.pause(),
        resume: () => webSocket.resume(),
        close: (code = 1000) => webSocket.close(code),
      })
    })
  })
}
