/** Conversations with containers: exec, attach, port-forward. The runtime has them in SPDY; clients in SPDY or over WebSockets. */

import type { Duplex } from 'node:stream'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { endWhenIdle } from '#base/end-when-idle.ts'
import { errorMessage } from '#base/error-message.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { type PassedAnswer, splice } from '#base/upgrade-client.ts'
import { acceptWebSocket, type WebSocketConnection } from '#base/websocket-server.ts'
import type { ObservedContainer, RuntimeStreams, StreamOptions } from '#kubelet/runtimes/runtime.ts'
import type { ServerParts } from '#kubelet/server/kubelet-server.ts'
import { Refusal } from '#kubelet/server/refusal.ts'
import { SpdyConnection } from '#wire/spdy/connection.ts'
import { chosenProtocol, offeredProtocols } from '#wire/websocket/channels.ts'
import { translateToSpdy } from '#wire/websocket/translate-to-spdy.ts'
import { tunnel, tunnelProtocol } from '#wire/websocket/tunnel.ts'

export type StreamRequest = { namespace: string; name: string; uid: string; container: string; query: URLSearchParams }

export async function exec(exchange: HttpExchange, request: StreamRequest, parts: ServerParts): Promise<void> {
  const { container, query } = request
  const options = streamOptions(query)
  const pod = podOf(request, parts)
  const observed = await containerNamed(pod, container, parts)
  if (observed === undefined) throw new Refusal(500, `container not found ("${container}")`)
  const url = await urlFrom('exec', parts, (streams) => streams.exec(observed.id, query.getAll('command'), options))
  await converse(exchange, url, options, parts)
}

export async function attach(exchange: HttpExchange, request: StreamRequest, parts: ServerParts): Promise<void> {
  const { container, query } = request
  const asked = streamOptions(query)
  const pod = podOf(request, parts)
  const fullName = `${pod.metadata.name}_${pod.metadata.namespace}`
  const observed = await containerNamed(pod, container, parts)
  if (observed === undefined) throw new Refusal(500, `container ${container} not found in pod ${fullName}`)
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec
  // Whether a process has a terminal was settled when it started.
  const tty = [...containers, ...initContainers, ...ephemeralContainers].find(({ name }) => name === container)?.tty ?? false
  const options = { ...asked, tty, stderr: asked.stderr && !tty }
  const url = await urlFrom('attach', parts, (streams) => streams.attach(observed.id, options))
  await converse(exchange, url, options, parts)
}

export async function portForward(exchange: HttpExchange, request: StreamRequest, parts: ServerParts): Promise<void> {
  const tunneled = isWebSocket(exchange) ? tunnelProtocol(offeredProtocols(exchange.headers['sec-websocket-protocol'])) : undefined
  // Only a WebSocket that is no tunnel must say the ports beforehand.
  const ports = tunneled === undefined && isWebSocket(exchange) ? portsOf(request.query) : []
  const pod = podOf(request, parts)
  const { sandboxes } = await parts.runtime.observe(pod.metadata.uid ?? '')
  const sandbox = sandboxes.find(({ isReady }) => isReady)
  if (sandbox === undefined) throw new Refusal(500, `pod not found ("${pod.metadata.name}_${pod.metadata.namespace}")`)
  const url = await urlFrom('portforward', parts, (streams) => streams.portForward(sandbox.id, ports))
  if (tunneled === undefined) return passOn(exchange, url, parts)
  const runtime = await spdyTo(url, [tunneled.inner], exchange, parts)
  if (runtime !== undefined) void tunnel(await accepted(exchange, tunneled.offered, runtime), runtime)
}

/** WebSockets are translated, SPDY is passed on as it is. */
async function converse(exchange: HttpExchange, url: string, options: StreamOptions, parts: ServerParts): Promise<void> {
  if (!isWebSocket(exchange)) return passOn(exchange, url, parts)
  const protocol = chosenProtocol(offeredProtocols(exchange.headers['sec-websocket-protocol']))
  if (protocol === undefined) throw new Refusal(403, 'unable to upgrade: none of the offered protocols is supported\n')
  const runtime = await spdyTo(url, ['v4.channel.k8s.io'], exchange, parts)
  if (runtime === undefined) return
  const webSocket = await accepted(exchange, protocol.name, runtime)
  const spdy = new SpdyConnection({ ...runtime, role: 'client' })
  void translateToSpdy(webSocket, spdy, protocol, options)
}

function isWebSocket({ headers }: HttpExchange): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** A client that is no longer there takes the conversation with it. */
async function accepted(exchange: HttpExchange, protocol: string, { socket }: { socket: Duplex }): Promise<WebSocketConnection> {
  try {
    if (exchange.takeOver === undefined) throw new Refusal(400, 'Upgrade request required')
    return await acceptWebSocket(exchange.takeOver(), protocol)
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Undefined when the runtime refused, which the client was told. */
async function spdyTo(url: string, protocols: string[], exchange: HttpExchange, parts: ServerParts) {
  if (exchange.takeOver === undefined) throw new Refusal(400, 'Upgrade request required')
  const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocols }
  const answer = await asked(url, 'POST', headers, parts)
  if (answer.upgraded === undefined) await respondRefused(exchange, answer)
  return answer.upgraded
}

const passedHeaders = /^(?:x-stream-protocol-version|sec-websocket-.*|origin|user-agent)$/

async function passOn(exchange: HttpExchange, url: string, parts: ServerParts): Promise<void> {
  if (exchange.takeOver === undefined) throw new Refusal(400, 'Upgrade request required')
  const headers: Record<string, string | string[]> = { connection: 'Upgrade', upgrade: exchange.headers.upgrade ?? '' }
  const { rawHeaders } = exchange
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase()
    if (passedHeaders.test(name)) headers[name] = [headers[name] ?? [], rawHeaders[index + 1] ?? ''].flat()
  }
  const answer = await asked(url, exchange.method, headers, parts)
  if (answer.upgraded === undefined) return respondRefused(exchange, answer)
  const client = exchange.takeOver()
  client.socket.write(switchingProtocols(answer.rawHeaders))
  splice(client, answer.upgraded)
}

async function asked(url: string, method: string, headers: Record<string, string | string[]>, parts: ServerParts): Promise<PassedAnswer> {
  const { upgrades, idleStreamMs = 0 } = parts
  const answer = await upgrades.send({ url, method, headers }).catch((error: Error) => {
    throw new Refusal(500, `error dialing backend: ${error.message}`)
  })
  // When the runtime's end is closed, the client's is too.
  if (answer.upgraded !== undefined && idleStreamMs > 0) endWhenIdle(answer.upgraded.socket, idleStreamMs)
  return answer
}

async function respondRefused(exchange: HttpExchange, { status, body, headers }: PassedAnswer): Promise<void> {
  if (status < 400) throw new Refusal(500, `invalid upgrade response: status code ${status}`)
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  exchange.respond(status, { 'content-type': headers['content-type'] ?? 'text/plain' }, Buffer.concat(pieces))
}

function switchingProtocols(rawHeaders: readonly string[]): string {
  let text = 'HTTP/1.1 101 Switching Protocols\r\n'
  for (let index = 0; index < rawHeaders.length; index += 2) text += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`
  return `${text}\r\n`
}

function streamOptions(query: URLSearchParams): StreamOptions {
  const isSet = (name: string) => query.get(name) === '1'
  const tty = isSet('tty')
  const options = { stdin: isSet('input'), stdout: isSet('output'), stderr: isSet('error') && !tty, tty }
  if (!options.stdin && !options.stdout && !options.stderr) throw new Refusal(400, 'you must specify at least 1 of stdin, stdout, stderr')
  return options
}

function portsOf(query: URLSearchParams): number[] {
  const texts = query.getAll('port').flatMap((text) => text.split(','))
  if (texts.length === 0) throw new Refusal(400, 'query parameter "port" is required')
  return texts.map((text) => {
    const port = Number(text)
    if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw new Refusal(400, `unable to parse "${text}" as a port`)
    return port
  })
}

function podOf({ namespace, name, uid }: StreamRequest, { findPod }: ServerParts): V1Pod {
  const pod = findPod(namespace, name)
  if (pod === undefined) throw new Refusal(404, 'pod does not exist')
  if (uid !== '' && pod.metadata.uid !== uid) throw new Refusal(404, 'pod not found')
  return pod
}

async function containerNamed({ metadata }: V1Pod, name: string, { runtime }: ServerParts): Promise<ObservedContainer | undefined> {
  const { containers } = await runtime.observe(metadata.uid ?? '')
  const ofName = containers.filter((container) => container.name === name)
  return ofName.find(({ state }) => state === 'running') ?? ofName[0]
}

async function urlFrom(method: string, { runtime }: ServerParts, ask: (streams: RuntimeStreams) => Promise<string>): Promise<string> {
  if (runtime.streams === undefined) throw new Refusal(404, runtime.whyNoStreams ?? `streaming method ${method} disabled`)
  try {
    return await ask(runtime.streams)
  } catch (error) {
    const text = errorMessage(error)
    throw new Refusal(error instanceof GrpcError && error.code === grpcCodes.notFound ? 404 : 500, text)
  }
}
