/** SPDY inside the messages of a WebSocket, as clients forward ports. */
import type { Duplex } from 'node:stream'
import type { WebSocketConnection } from '#base/websocket-server.ts'

const tunnelPrefix = 'SPDY/3.1+'

/** The protocol to ask the runtime for, and the name to answer the client with. Undefined where no tunnel is asked for. */
export function tunnelProtocol(offered: readonly string[]): { offered: string; inner: string } | undefined {
  const found = offered.find((name) => name.startsWith(tunnelPrefix) && name.endsWith('.k8s.io'))
  return found === undefined ? undefined : { offered: found, inner: found.slice(tunnelPrefix.length) }
}

const mostBacklogBytes = 1 << 20

/** Resolves when either end is gone, and then so is the other. */
export function tunnel(webSocket: WebSocketConnection, { socket, head }: { socket: Duplex; head: Uint8Array }): Promise<void> {
  let isHeldBack = false
  const send = (data: Uint8Array) => {
    webSocket.send(data)
    if (webSocket.backlogBytes < mostBacklogBytes || isHeldBack) return
    isHeldBack = true
    socket.pause()
    webSocket.onSent(() => {
      isHeldBack = false
      socket.resume()
    })
  }
  if (head.length > 0) send(head)
  socket.on('data', send)
  webSocket.onMessage((data) => {
    if (!socket.write(data)) webSocket.pause()
  })
  socket.on('drain', () => webSocket.resume())
  return new Promise((resolve) => {
    webSocket.onClose(() => {
      socket.destroy()
      resolve()
    })
    const end = () => webSocket.close()
    socket.on('end', () => socket.end())
    socket.on('error', end)
    socket.on('close', end)
  })
}
