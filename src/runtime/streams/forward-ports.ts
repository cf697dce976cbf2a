/** Connections to ports of a pod, each as a pair of streams of a client's connection. */
import type { Duplex } from 'node:stream'
import { descriptors } from '#base/descriptors.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Conversation } from '#runtime/streams/stream-server.ts'
import { SpdyConnection, type SpdyStream } from '#wire/spdy/connection.ts'

/** How many connections are forwarded at once, by all clients: each takes a descriptor. */
export class ForwardedPorts {
  readonly connect: typeof descriptors.connectIn
  open = 0

  constructor(connect = descriptors.connectIn) {
    this.connect = connect
  }
}

const mostInAll = 4_000
/** Of one client; two for each connection. */
const mostStreams = 1_000
/** As Go's dialers wait at most where nobody says otherwise. */
const connectLimitMs = 30_000
/** What is kept of one connection before the client has to wait with all of them, which share its connection. */
const mostKeptBytes = 1 << 20

/** At the loopback address of the network namespace that a process is in; ours where none is named. */
export function portConversation(pid: number | undefined, ports: ForwardedPorts): Conversation {
  return (socket, head) => {
    const errors = new Map<string, SpdyStream>()
    const brake = new Brake(
      () => connection.pause(),
      () => connection.resume(),
    )
    const connection = new SpdyConnection({
      ...{ socket, head, role: 'server', mostStreams },
      onStream(stream) {
        const { streamtype, port = '', requestid = port } = stream.headers
        if (streamtype === 'error') {
          errors.set(requestid, stream)
          stream.onReset = () => void errors.delete(requestid)
          return true
        }
        if (ports.open >= mostInAll) return false
        ports.open++
        void forward({ stream, error: errors.get(requestid), port: Number(port), pid, brake, connect: ports.connect }).finally(
          () => ports.open--,
        )
        errors.delete(requestid)
        return true
      },
    })
  }
}

/** Holds a client back while any of the connections that it sends to cannot take more. */
class Brake {
  readonly #pause: () => void
  readonly #resume: () => void
  readonly #full = new Set<SpdyStream>()

  constructor(pause: () => void, resume: () => void) {
    this.#pause = pause
    this.#resume = resume
  }

  hold(stream: SpdyStream): void {
    if (this.#full.size === 0) this.#pause()
    this.#full.add(stream)
  }

  release(stream: SpdyStream): void {
    if (this.#full.delete(stream) && this.#full.size === 0) this.#resume()
  }
}

type Forwarding = {
  stream: SpdyStream
  error: SpdyStream | undefined
  port: number
  pid: number | undefined
  brake: Brake
  connect: typeof descriptors.connectIn
}

/** Resolves when the connection is closed, or was never made. */
async function forward({ stream, error, port, pid, brake, connect }: Forwarding): Promise<void> {
  const early: Uint8Array[] = []
  let earlyBytes = 0
  const over = new AbortController()
  let hasEnded = false
  stream.onData = (bytes) => {
    early.push(bytes)
    earlyBytes += bytes.length
    if (earlyBytes > mostKeptBytes) brake.hold(stream)
  }
  stream.onEnd = () => {
    hasEnded = true
  }
  stream.onReset = () => over.abort()
  let connection: Duplex
  try {
    connection = await connect(pid, port, { timeoutMs: connectLimitMs, signal: over.signal })
  } catch (failure) {
    stream.onData = () => {}
    brake.release(stream)
    error?.write(Buffer.from(`failed to connect to localhost:${port} inside the pod's network namespace: ${errorMessage(failure)}`))
    error?.end()
    stream.end()
    return
  }
  const closed = new Promise<void>((resolve) => connection.once('close', () => resolve()))
  const send = (bytes: Uint8Array) => {
    if (connection.destroyed) return
    connection.write(bytes)
    if (connection.writableLength > mostKeptBytes) brake.hold(stream)
  }
  connection.on('error', () => connection.destroy())
  connection.on('drain', () => brake.release(stream))
  connection.on('data', (bytes: Uint8Array) => {
    if (stream.write(bytes)) return
    connection.pause()
    stream.onceDrained(() => connection.resume())
  })
  connection.on('end', () => stream.end())
  stream.onData = send
  stream.onEnd = () => void connection.end()
  stream.onReset = () => void connection.destroy()
  for (const bytes of early.splice(0)) send(bytes)
  if (connection.writableLength <= mostKeptBytes) brake.release(stream)
  if (over.signal.aborted) connection.destroy()
  else if (hasEnded) connection.end()
  await closed
  brake.release(stream)
  stream.end()
  error?.end()
}
