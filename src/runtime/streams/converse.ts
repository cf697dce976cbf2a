/** Input and output of a process, as streams of a connection. */
import type { Duplex, Readable, Writable } from 'node:stream'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Conversation } from '#runtime/streams/stream-server.ts'
import { SpdyConnection, type SpdyStream } from '#wire/spdy/connection.ts'

export type StreamRequest = { stdin: boolean; stdout: boolean; stderr: boolean; tty: boolean }

/** The other side of a conversation: what a command or a container offers. */
export type Partner = {
  readonly input: Writable | undefined
  /** Calls back with what it writes, until `ended`. */
  listen(receive: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void): Disposable
  /** Holds it back while the client cannot take more; undefined where it goes on, and who cannot keep up misses some of it. */
  readonly pause: (() => void) | undefined
  resume(): void
  resize(size: { columns: number; rows: number }): void
  /** Whoever asked will send no more. */
  endInput(): void
  /** Resolves with an exit code, or undefined where there is none to tell. */
  readonly ended: Promise<number | undefined>
  /** The client has gone. */
  leave(): void
}

/** How long what was written last may take on its way. */
const farewellMs = 10
/** What is kept of what a client sends before there is a partner. */
const mostEarlyBytes = 1 << 20
/** What is kept of what a partner writes that waits for nobody. */
const mostBehindBytes = 4 << 20
/** More than a client of ours opens for one conversation. */
const mostStreams = 16

/** `begin` is called once all streams are there. */
export function conversation(request: StreamRequest, clock: Clock, begin: () => Promise<Partner>): Conversation {
  return (socket, head, protocol) => {
    const streams = new Map<string, SpdyStream>()
    const canResize = request.tty && protocol !== '' && !/^(v2\.)?channel/.test(protocol)
    const expected = 1 + [request.stdin, request.stdout, request.stderr && !request.tty, canResize].filter(Boolean).length
    let hasBegun = false
    const connection = new SpdyConnection({
      ...{ socket, head, role: 'server', mostStreams },
      onStream(stream) {
        streams.set(stream.headers['streamtype'] ?? '', stream)
        if (streams.size >= expected && !hasBegun) {
          hasBegun = true
          talk(connection, streams, protocol, clock, begin).catch(() => connection.destroy())
        }
        return true
      },
    })
  }
}

async function talk(
  connection: SpdyConnection,
  streams: Map<string, SpdyStream>,
  protocol: string,
  clock: Clock,
  begin: () => Promise<Partner>,
): Promise<void> {
  const error = streams.get('error')
  const early: Uint8Array[] = []
  const [stdin, resize] = [streams.get('stdin'), streams.get('resize')]
  let partner: Partner | undefined
  let hasEnded = false
  let earlyBytes = 0
  const send = (bytes: Uint8Array) => {
    if (partner === undefined) {
      early.push(bytes)
      earlyBytes += bytes.length
      if (earlyBytes > mostEarlyBytes) connection.pause()
    } else if (partner.input !== undefined && !partner.input.destroyed && !partner.input.write(bytes)) {
      waitFor(partner.input)
    }
  }
  /** What cannot be written any more needs nobody to wait. */
  let isWaiting = false
  const waitFor = (input: Writable) => {
    if (isWaiting) return
    isWaiting = true
    const resume = () => {
      isWaiting = false
      input.off('drain', resume).off('close', resume)
      connection.resume()
    }
    connection.pause()
    input.on('drain', resume).on('close', resume)
  }
  if (stdin !== undefined) {
    stdin.onData = send
    stdin.onEnd = () => {
      hasEnded = true
      partner?.endInput()
    }
  }
  let size: TerminalSize | undefined
  if (resize !== undefined) {
    resize.onData = (bytes) => {
      const latest = sizeIn(bytes)
      if (latest === undefined) return
      size = latest
      partner?.resize(size)
    }
  }
  const finish = (status: object | string) => {
    for (const name of ['stdout', 'stderr']) streams.get(name)?.end()
    if (status !== '') error?.write(Buffer.from(typeof status === 'string' ? status : JSON.stringify({ metadata: {}, ...status })))
    error?.end()
    clock.after(farewellMs, () => connection.close())
  }
  try {
    partner = await begin()
  } catch (failure) {
    return finish(statusOf(protocol, undefined, errorMessage(failure)))
  }
  const talking = partner
  connection.onClose(() => talking.leave())
  connection.resume()
  for (const bytes of early.splice(0)) send(bytes)
  if (size !== undefined) talking.resize(size)
  let isHeldBack = false
  const listening = talking.listen((name, bytes) => {
    const stream = streams.get(name)
    if (stream === undefined || (talking.pause === undefined && connection.backlogBytes > mostBehindBytes)) return
    if (stream.write(bytes) || talking.pause === undefined || isHeldBack) return
    isHeldBack = true
    talking.pause()
    connection.onceDrained(() => {
      isHeldBack = false
      talking.resume()
    })
  })
  if (hasEnded) talking.endInput()
  try {
    finish(statusOf(protocol, await talking.ended, undefined))
  } catch (failure) {
    finish(statusOf(protocol, undefined, errorMessage(failure)))
  } finally {
    listening[Symbol.dispose]()
  }
}

function statusOf(protocol: string, exitCode: number | undefined, failure: string | undefined): object | string {
  const hasStatus = /^v[45]\./.test(protocol)
  if (failure !== undefined) return hasStatus ? { status: 'Failure', message: failure, reason: 'InternalError', code: 500 } : failure
  if (exitCode === undefined || exitCode === 0) return hasStatus ? { status: 'Success' } : ''
  const message = `command terminated with non-zero exit code: exit status ${exitCode}`
  if (!hasStatus) return message
  return { status: 'Failure', message, reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] } }
}

type TerminalSize = { columns: number; rows: number }

/** A message has some twenty bytes; of many together the last one counts. */
const sizeTextBytes = 1024

function sizeIn(bytes: Uint8Array): TerminalSize | undefined {
  let found: TerminalSize | undefined
  for (const [text] of Buffer.from(bytes.subarray(-sizeTextBytes))
    .toString()
    .matchAll(/\{[^{}]*\}/g)) {
    try {
      const { Width = 0, Height = 0 } = JSON.parse(text) as { Width?: number; Height?: number }
      if (Width > 0 && Height > 0 && Width < 65_536 && Height < 65_536) found = { columns: Width, rows: Height }
    } catch {
      // Half a message: the next one will be whole.
    }
  }
  return found
}

/** Readable streams that are listened to together. */
export function listenTo(
  sources: Partial<Record<'stdout' | 'stderr', Readable | Duplex | undefined>>,
): Pick<Partner, 'listen' | 'resume'> & { pause(): void; all: readonly Readable[] } {
  const entries = (['stdout', 'stderr'] as const).flatMap((name) => (sources[name] === undefined ? [] : [[name, sources[name]] as const]))
  return {
    listen(receive) {
      for (const [name, source] of entries) source.on('data', (bytes: Uint8Array) => receive(name, bytes))
      return { [Symbol.dispose]() {} }
    },
    pause() {
      for (const [, source] of entries) source.pause()
    },
    resume() {
      for (const [, source] of entries) source.resume()
    },
    all: entries.map(([, source]) => source),
  }
}
