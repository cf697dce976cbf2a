/** Who a client may talk to: a command in a container, a container itself, a port of a pod. */
import type { Clock } from '#base/clock.ts'
import { descriptors } from '#base/descriptors.ts'
import { endedOrQuiet } from '#base/ended-or-quiet.ts'
import { errorMessage } from '#base/error-message.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Containers } from '#runtime/containers/containers.ts'
import { type ExecSeams, startCommand } from '#runtime/containers/exec.ts'
import type { ContainerRecord } from '#runtime/records.ts'
import type { RuntimePaths } from '#runtime/runtime-paths.ts'
import { listenTo, type Partner, type StreamRequest } from '#runtime/streams/converse.ts'
import type { Conversation } from '#runtime/streams/stream-server.ts'
import { SpdyConnection, type SpdyStream } from '#wire/spdy/connection.ts'

/** For what still holds the output of a command that has ended. */
const outputPatienceMs = 1000

export async function commandPartner(
  record: ContainerRecord,
  args: readonly string[],
  request: StreamRequest,
  seams: ExecSeams,
): Promise<Partner> {
  const command = await startCommand(record, args, { hasTerminal: request.tty, hasStdin: request.stdin }, seams)
  const { terminal, stdout, stderr } = command
  const sources = listenTo(terminal === undefined ? { stdout, stderr } : { stdout: terminal })
  const ended = command.exitCode.then(async (exitCode) => {
    await endedOrQuiet(sources.all, { clock: seams.clock, quietMs: outputPatienceMs })
    return exitCode
  })
  // Whoever awaits the end gets the failure.
  ended.catch(() => {})
  return {
    ...{ input: terminal ?? command.stdin, listen: sources.listen, pause: sources.pause, resume: sources.resume, ended },
    resize: command.resize,
    // A terminal has no end: programs in it are told by a character, which is the client's business.
    endInput: () => command.stdin?.end(),
    // As with other runtimes, what was begun goes on; only nobody listens any more.
    leave: () => {
      command.stdin?.end()
      sources.resume()
      terminal?.destroy()
    },
  }
}

export function containerPartner(record: ContainerRecord, containers: Containers, paths: RuntimePaths): Partner {
  const output = containers.output(record.id)
  if (output === undefined) throw new GrpcError(grpcCodes.unknown, 'the container has ended')
  const { terminal } = output
  const pipe = terminal === undefined && record.config.stdin ? descriptors.writeFifo(paths.container(record.id).pipe('stdin')) : undefined
  pipe?.on('error', () => pipe.destroy())
  const over = Promise.withResolvers<number | undefined>()
  const listeners: Disposable[] = []
  void containers.ended(record.id).then(() => over.resolve(undefined))
  return {
    input: terminal ?? pipe,
    listen(receive) {
      const listening = output.listen(receive)
      listeners.push(listening)
      return listening
    },
    // The log goes on whoever listens: a client that cannot keep up is given what its connection takes.
    pause() {},
    resume() {},
    resize: (size) => output.resizeTerminal(size),
    endInput() {
      pipe?.end()
      if (record.config.stdinOnce) void containers.closeInput(record.id)
    },
    ended: over.promise,
    leave() {
      for (const listener of listeners) listener[Symbol.dispose]()
      pipe?.end()
      over.resolve(undefined)
    },
  }
}

/** Each pair of streams of a connection is a connection to a port of the pod. */
export function portConversation(pid: number | undefined, clock: Clock): Conversation {
  return (socket, head) => {
    const errors = new Map<string, SpdyStream>()
    new SpdyConnection({
      ...{ socket, head, role: 'server' },
      onStream(stream) {
        const { streamtype, port = '', requestid = port } = stream.headers
        if (streamtype === 'error') {
          errors.set(requestid, stream)
          return true
        }
        forward(stream, errors.get(requestid), Number(port), pid, clock)
        errors.delete(requestid)
        return true
      },
    })
  }
}

function forward(stream: SpdyStream, error: SpdyStream | undefined, port: number, pid: number | undefined, clock: Clock): void {
  let connection: ReturnType<typeof descriptors.connectIn>
  try {
    connection = descriptors.connectIn(pid, port)
  } catch (failure) {
    error?.write(Buffer.from(`failed to connect to localhost:${port} inside the pod's network namespace: ${errorMessage(failure)}`))
    error?.end()
    stream.end()
    return
  }
  connection.on('error', () => connection.destroy())
  connection.on('data', (bytes: Uint8Array) => {
    if (!stream.write(bytes)) {
      connection.pause()
      clock.after(backOffMs, () => connection.resume())
    }
  })
  connection.on('end', () => stream.end())
  connection.on('close', () => {
    stream.end()
    error?.end()
  })
  stream.onData = (bytes) => void connection.write(bytes)
  stream.onEnd = () => void connection.end()
  stream.onReset = () => void connection.destroy()
}

const backOffMs = 5
