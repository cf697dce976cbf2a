/** Who a client may talk to: a command in a container, or a container itself. */
import { descriptors } from '#base/descriptors.ts'
import { endedOrQuiet } from '#base/ended-or-quiet.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Containers } from '#runtime/containers/containers.ts'
import { type ExecSeams, startCommand } from '#runtime/containers/exec.ts'
import type { ContainerRecord } from '#runtime/records.ts'
import type { RuntimePaths } from '#runtime/runtime-paths.ts'
import { listenTo, type Partner, type StreamRequest } from '#runtime/streams/converse.ts'

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
    // As with other runtimes, what was begun goes on, but nobody reads any more: what writes on is told so by a signal.
    leave: () => {
      command.stdin?.end()
      for (const source of sources.all) source.destroy()
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
  containers.ended(record.id).then(() => over.resolve(undefined), over.reject)
  return {
    input: terminal ?? pipe,
    listen(receive) {
      const listening = output.listen(receive)
      listeners.push(listening)
      return listening
    },
    // The log goes on whoever listens.
    pause: undefined,
    resume() {},
    resize: (size) => output.resizeTerminal(size),
    endInput() {
      pipe?.end()
      // It may have been removed meanwhile.
      if (record.config.stdinOnce) containers.closeInput(record.id).catch(() => {})
    },
    ended: over.promise,
    leave() {
      for (const listener of listeners) listener[Symbol.dispose]()
      pipe?.end()
      over.resolve(undefined)
    },
  }
}
