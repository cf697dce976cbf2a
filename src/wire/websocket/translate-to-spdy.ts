/** A conversation with a container that the client has over a WebSocket, and the runtime over SPDY. */
import type { WebSocketConnection } from '#base/websocket-server.ts'
import type { SpdyConnection, SpdyStream } from '#wire/spdy/connection.ts'
import { type ChannelProtocol, channels, decodedMessage, encodedMessage } from '#wire/websocket/channels.ts'

export type ConversationStreams = { stdin: boolean; stdout: boolean; stderr: boolean; tty: boolean }

const mostBacklogBytes = 1 << 20
/** Runtimes say how it went in some hundred bytes. */
const mostStatusBytes = 1 << 20

type Status = { status?: string; message?: string }

/** Resolves when the conversation is over; both connections are closed then. */
export function translateToSpdy(
  webSocket: WebSocketConnection,
  spdy: SpdyConnection,
  protocol: ChannelProtocol,
  wanted: ConversationStreams,
): Promise<void> {
  let isHeldBack = false
  const send = (channel: number, data: Uint8Array) => {
    webSocket.send(encodedMessage(channel, data, protocol))
    if (webSocket.backlogBytes < mostBacklogBytes || isHeldBack) return
    isHeldBack = true
    spdy.pause()
    webSocket.onSent(() => {
      isHeldBack = false
      spdy.resume()
    })
  }
  // An empty message tells the client that it is being listened to.
  send(wanted.stdout ? channels.stdout : wanted.stderr ? channels.stderr : channels.error, noBytes)

  // The order in which upstream's clients open them.
  const error = spdy.open({ streamtype: 'error' })
  const stdin = wanted.stdin ? spdy.open({ streamtype: 'stdin' }) : undefined
  const output: Promise<void>[] = []
  const listen = (name: 'stdout' | 'stderr') => {
    const stream = spdy.open({ streamtype: name })
    stream.onData = (data) => send(channels[name], data)
    output.push(ended(stream))
  }
  if (wanted.stdout) listen('stdout')
  if (wanted.stderr) listen('stderr')
  const resize = wanted.tty ? spdy.open({ streamtype: 'resize' }) : undefined
  error.end()

  const chunks: Uint8Array[] = []
  let statusBytes = 0
  let wasBroken = false
  error.onData = (data) => {
    statusBytes += data.length
    if (statusBytes <= mostStatusBytes) chunks.push(data)
  }
  error.onReset = () => {
    wasBroken = true
  }
  output.push(ended(error))

  const holdBack = () => {
    webSocket.pause()
    spdy.onceDrained(() => webSocket.resume())
  }
  webSocket.onMessage((message) => {
    const decoded = decodedMessage(message, protocol)
    if (decoded === undefined) return
    const { channel, data } = decoded
    if (channel === channels.close && protocol.canClose) {
      if (data[0] === channels.stdin) stdin?.end()
    } else if (channel === channels.stdin && stdin !== undefined && data.length > 0) {
      if (!stdin.write(data)) holdBack()
    } else if (channel === channels.resize && resize !== undefined) {
      if (!resize.write(data)) holdBack()
    }
  })

  return new Promise((resolve) => {
    let isOver = false
    webSocket.onClose(() => {
      isOver = true
      spdy.close()
      resolve()
    })
    void Promise.all(output).then(() => {
      if (isOver) return
      const text = statusText(Buffer.concat(chunks), wasBroken, protocol)
      if (text !== '') send(channels.error, Buffer.from(text))
      webSocket.close()
      spdy.close()
    })
  })
}

const noBytes = new Uint8Array(0)

const ended = (stream: SpdyStream): Promise<void> =>
  new Promise((resolve) => {
    stream.onEnd = resolve
  })

/** Runtimes say how it went as a Status; a connection that breaks before that is a failure of its own. */
function statusText(statusBytes: Uint8Array, wasBroken: boolean, { hasStatus }: ChannelProtocol): string {
  let text = Buffer.from(statusBytes).toString('utf8')
  if (text === '') text = JSON.stringify(wasBroken ? brokenOff : { metadata: {}, status: 'Success' })
  if (hasStatus) return text
  const { status, message = '' } = parsed(text)
  return status === 'Success' ? '' : message
}

const brokenOff = {
  metadata: {},
  status: 'Failure',
  message: 'Internal error occurred: unexpected EOF',
  reason: 'InternalError',
  details: { causes: [{ message: 'unexpected EOF' }] },
  code: 500,
}

function parsed(text: string): Status {
  try {
    return JSON.parse(text) as Status
  } catch {
    return { status: 'Failure', message: text }
  }
}
