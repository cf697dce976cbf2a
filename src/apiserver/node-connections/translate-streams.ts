/** Conversations over WebSockets with nodes whose agents know SPDY alone: the server speaks both. */
import type { Duplex } from 'node:stream'
import { unknownFailure } from '#api/meta/status-error.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { Destination } from '#apiserver/node-connections/forward.ts'
import { answeredHeaders } from '#apiserver/node-connections/proxied-headers.ts'
import { sendPieces } from '#apiserver/node-connections/send-answer.ts'
import type { HttpExchange, TakenConnection } from '#base/http-server.ts'
import { acceptWebSocket, type WebSocketConnection } from '#base/websocket-server.ts'
import { SpdyConnection } from '#wire/spdy/connection.ts'
import { chosenProtocol, offeredProtocols } from '#wire/websocket/channels.ts'
import { translateToSpdy } from '#wire/websocket/translate-to-spdy.ts'
import { tunnel, tunnelProtocol } from '#wire/websocket/tunnel.ts'

/** False when it is no WebSocket that would have to be translated: older ones go on as they are. */
export async function translated(context: RequestContext, destination: Destination): Promise<boolean> {
  const { exchange } = context
  const { takeOver } = exchange
  if (takeOver === undefined || exchange.headers.upgrade?.toLowerCase() !== 'websocket') return false
  const offered = offeredProtocols(exchange.headers['sec-websocket-protocol'])
  const tunneled = tunnelProtocol(offered)
  if (tunneled !== undefined) {
    const node = await spdyTo(exchange, destination, tunneled.inner)
    if (node !== undefined) void tunnel(await accepted(takeOver(), tunneled.offered, node), node)
    return true
  }
  const protocol = chosenProtocol(offered)
  if (!protocol?.canClose) return false
  const node = await spdyTo(exchange, destination, 'v4.channel.k8s.io')
  if (node === undefined) return true
  const query = new URLSearchParams(destination.query)
  const tty = query.has('tty')
  const wanted = { stdin: query.has('input'), stdout: query.has('output'), stderr: query.has('error') && !tty, tty }
  const webSocket = await accepted(takeOver(), protocol.name, node)
  void translateToSpdy(webSocket, new SpdyConnection({ ...node, role: 'client' }), protocol, wanted)
  return true
}

/** A client that is no longer there takes the conversation with it. */
async function accepted(client: TakenConnection, protocol: string, { socket }: { socket: Duplex }): Promise<WebSocketConnection> {
  try {
    return await acceptWebSocket(client, protocol)
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Undefined when the node refused, which the client was told. */
async function spdyTo(exchange: HttpExchange, { backend, path, query }: Destination, protocol: string) {
  const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol }
  const target = query === '' ? path : `${path}?${query}`
  const answer = await backend.send({ method: 'POST', target, headers }).catch((error: Error) => {
    throw unknownFailure(`error dialing backend: ${error.message}`)
  })
  if (answer.upgraded !== undefined) return answer.upgraded
  if (answer.status < 400) throw unknownFailure(`invalid upgrade response: status code ${answer.status}`)
  await sendPieces(exchange, answer.status, answeredHeaders(answer.rawHeaders, answer.headers.connection), answer.body)
  return undefined
}
