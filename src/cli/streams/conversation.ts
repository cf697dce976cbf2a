/** Standard streams of a container over a WebSocket: `exec`, `attach`, and what is built on them. */
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import { NoWebSocket, openWebSocket, type WebSocketClient } from '#base/websocket-client.ts'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { type Query, queryText } from '#cli/session/rest.ts'
import { channels } from '#wire/websocket/channels.ts'

export type ConversationOptions = {
  path: string
  query: Query
  /** Absent: nothing is sent. */
  input?: AsyncIterable<Uint8Array>
  onOutput(data: Uint8Array): void
  onError(data: Uint8Array): void
  /** Called with a function that tells the container of the terminal's size. */
  onOpen?(resize: (columns: number, rows: number) => void): void
  /** Ends the conversation; what runs in the container runs on. */
  signal?: AbortSignal
}

const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io']

/** The exit code of the command. Throws where it could not be run. */
export async function converse(
  call: Call,
  { path, query, input, onOutput, onError, onOpen, signal }: ConversationOptions,
): Promise<number> {
  const socket = await open(call, path, query)
  return new Promise((resolve, reject) => {
    let outcome: V1Status | undefined
    socket.onMessage((message) => {
      const [channel] = message
      const data = message.subarray(1)
      if (channel === channels.stdout) onOutput(data)
      else if (channel === channels.stderr) onError(data)
      else if (channel === channels.error && data.length > 0) outcome = JSON.parse(Buffer.from(data).toString()) as V1Status
    })
    socket.onClose((code, reason) => {
      if (outcome === undefined && code !== 1000 && code !== 1005)
        reject(new CliError(`error reading from error stream: websocket: close ${code}${reason === '' ? '' : `: ${reason}`}`))
      else settle(outcome, resolve, reject)
    })
    onOpen?.((columns, rows) => void send(socket, channels.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))))
    if (input !== undefined) void pour(socket, input)
    whenAborted(call.host.interrupted, () => {
      // Nobody knows how the command will end: that is no success.
      reject(new CliError('interrupted'))
      socket.close()
    })
    if (signal !== undefined) whenAborted(signal, () => socket.close())
  })
}

/** It may have been while the connection was made. */
function whenAborted(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act)
}

function settle(outcome: V1Status | undefined, resolve: (code: number) => void, reject: (error: unknown) => void): void {
  const exit = outcome?.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  if (outcome === undefined || outcome.status === 'Success') resolve(0)
  else if (outcome.reason === 'NonZeroExitCode' && exit !== undefined) resolve(Number(exit))
  else reject(new CliError(outcome.message ?? 'the command failed'))
}

async function open({ session }: Call, path: string, query: Query, offered: readonly string[] = protocols): Promise<WebSocketClient> {
  const { server, tls, headers } = await session.upgradeTarget()
  try {
    return await openWebSocket(`${server}${path}${queryText(query)}`, offered, headers, tls)
  } catch (error) {
    if (!(error instanceof NoWebSocket)) throw error
    throw refusedUpgrade(error.body)
  }
}

/** What the server said instead: a status, or, of those who are no API server, plain text. */
export function refusedUpgrade(body: string): CliError {
  return new CliError(`unable to upgrade connection: ${messageIn(body) || body.trim() || 'empty server response'}`)
}

function messageIn(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown }
    return typeof message === 'string' ? message.trim() : ''
  } catch {
    return ''
  }
}

async function pour(socket: WebSocketClient, input: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const piece of input) await send(socket, channels.stdin, piece)
    // Version 5 can say that there is no more.
    if (socket.protocol === 'v5.channel.k8s.io') await socket.send(Buffer.from([channels.close, channels.stdin]))
  } catch {
    // The container has gone before the input ended.
  }
}

function send(socket: WebSocketClient, channel: number, data: Uint8Array): Promise<void> {
  const message = Buffer.allocUnsafe(data.length + 1)
  message[0] = channel
  message.set(data, 1)
  return socket.send(message)
}
