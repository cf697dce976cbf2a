/** Commands in Docker's containers, and conversations with the containers themselves. */
import type { Duplex } from 'node:stream'
import type { Clock } from '#base/clock.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Processes } from '#base/processes.ts'
import { type DockerClient, ifFound } from '#runtime/docker/docker-client.ts'
import type { InspectedContainer, InspectedExec } from '#runtime/docker/docker-types.ts'
import { MultiplexedOutput, type OutputStream } from '#runtime/docker/multiplexed-output.ts'
import type { Partner, StreamRequest } from '#runtime/streams/converse.ts'

export type DockerExecSeams = { docker: DockerClient; clock: Clock; processes: Processes }

const mostOutputBytes = 16 << 20
/** Keys that make Docker let go of a terminal. Its usual ones belong to shells: nobody types these. */
const detachKeys = 'ctrl-@,ctrl-^,ctrl-_,ctrl-]'

/** Runs it to its end. */
export async function runInContainer(containerId: string, cmd: readonly string[], timeoutMs: number, seams: DockerExecSeams) {
  const { docker, clock, processes } = seams
  const exec = await createExec(docker, containerId, cmd, { stdin: false, stdout: true, stderr: true, tty: false })
  const output: Record<OutputStream, Uint8Array[]> = { stdout: [], stderr: [] }
  let sizeBytes = 0
  const { socket, head } = await docker.hijack(`/exec/${exec}/start`, { body: { Detach: false, Tty: false } })
  const frames = new MultiplexedOutput((stream, bytes) => {
    sizeBytes += bytes.length
    if (sizeBytes <= mostOutputBytes) output[stream].push(Uint8Array.from(bytes))
  })
  const over = new AbortController()
  const late =
    timeoutMs > 0
      ? clock.sleep(timeoutMs, over.signal).then(
          () => true,
          () => false,
        )
      : undefined
  const ended = drained(socket, head, (bytes) => frames.add(bytes)).then(() => false)
  const isLate = await Promise.race([ended, ...(late === undefined ? [] : [late])])
  over.abort()
  if (isLate) {
    const { Pid, Running } = await docker.json<InspectedExec>('GET', `/exec/${exec}/json`)
    // Docker has no way to end a command.
    if (Running && Pid > 0) processes.kill(Pid, 'SIGKILL')
    socket.destroy()
    throw new GrpcError(
      grpcCodes.deadlineExceeded,
      `failed to exec in container: timeout ${timeoutMs / 1000}s exceeded: context deadline exceeded`,
    )
  }
  const [stdout, stderr] = [Buffer.concat(output.stdout), Buffer.concat(output.stderr)]
  const exitCode = await exitCodeOf(exec, stdout.toString(), seams)
  return { exitCode, stdout, stderr }
}

export async function execPartner(
  container: InspectedContainer,
  cmd: readonly string[],
  request: StreamRequest,
  seams: DockerExecSeams,
): Promise<Partner> {
  const { docker } = seams
  const exec = await createExec(docker, container.Id, cmd, request)
  const connection = await docker.hijack(`/exec/${exec}/start`, { body: { Detach: false, Tty: request.tty } })
  let first = ''
  const partner = socketPartner(connection, request.tty, (_, bytes) => {
    if (first.length < 1000) first += Buffer.from(bytes).toString()
  })
  return {
    ...partner,
    resize: ({ columns, rows }) => void docker.json('POST', `/exec/${exec}/resize`, { query: { w: columns, h: rows } }).catch(() => {}),
    ended: partner.ended.then(() => exitCodeOf(exec, first, seams)),
  }
}

export async function attachPartner(container: InspectedContainer, request: StreamRequest, { docker }: DockerExecSeams): Promise<Partner> {
  const { stdin, stdout, stderr } = request
  const isTerminal = container.Config.Tty
  const hasInput = stdin && container.Config.OpenStdin
  const query = { stream: true, stdin: hasInput, stdout, stderr: stderr && !isTerminal, detachKeys }
  const partner = socketPartner(await docker.hijack(`/containers/${container.Id}/attach`, { query }), isTerminal)
  return {
    ...partner,
    input: hasInput ? partner.input : undefined,
    resize: ({ columns, rows }) =>
      void docker.json('POST', `/containers/${container.Id}/resize`, { query: { w: columns, h: rows } }).catch(() => {}),
  }
}

function createExec(
  docker: DockerClient,
  containerId: string,
  cmd: readonly string[],
  { stdin, stdout, stderr, tty }: StreamRequest,
): Promise<string> {
  const body = { AttachStdin: stdin, AttachStdout: stdout, AttachStderr: stderr && !tty, Tty: tty, Cmd: cmd, DetachKeys: detachKeys }
  return docker.json<{ Id: string }>('POST', `/containers/${containerId}/exec`, { body }).then(({ Id }) => Id)
}

/** Rejects where the command could not be started, which Docker says in its output. */
async function exitCodeOf(exec: string, said: string, { docker, clock }: DockerExecSeams): Promise<number> {
  // The output ends a moment before Docker knows of the end.
  for (const pauseMs of [0, 5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]) {
    if (pauseMs > 0) await clock.sleep(pauseMs)
    const found = await ifFound(docker.json<InspectedExec>('GET', `/exec/${exec}/json`))
    if (found === undefined) throw new GrpcError(grpcCodes.unknown, 'the container is gone, and the command with it')
    const { Running, ExitCode, Pid } = found
    if (Running || ExitCode === null) continue
    if (Pid === 0 && said.startsWith('OCI runtime exec failed'))
      throw new GrpcError(grpcCodes.unknown, `failed to exec in container: ${said.trim()}`)
    return ExitCode
  }
  throw new GrpcError(grpcCodes.unknown, 'the command has closed its output and not ended')
}

type Listener = (stream: OutputStream, bytes: Uint8Array) => void

function socketPartner(
  { socket, head }: { socket: Duplex; head: Uint8Array },
  isTerminal: boolean,
  onOutput?: Listener,
): Omit<Partner, 'resize'> {
  const listeners = new Set<Listener>()
  const early: [OutputStream, Uint8Array][] = []
  const receive: Listener = (stream, bytes) => {
    onOutput?.(stream, bytes)
    if (listeners.size === 0) early.push([stream, Uint8Array.from(bytes)])
    for (const listener of listeners) listener(stream, bytes)
  }
  const frames = new MultiplexedOutput(receive)
  const ended = drained(socket, head, (bytes) => (isTerminal ? receive('stdout', bytes) : frames.add(bytes)))
  return {
    input: socket,
    listen(listener) {
      for (const [stream, bytes] of early.splice(0)) listener(stream, bytes)
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    endInput: () => void socket.end(),
    ended: ended.then(() => undefined),
    leave: () => void socket.destroy(),
  }
}

/** Resolves at the end of what the other side sends. */
function drained(socket: Duplex, head: Uint8Array, receive: (bytes: Uint8Array) => void): Promise<void> {
  return new Promise((resolve) => {
    const take = (bytes: Uint8Array) => {
      try {
        receive(bytes)
      } catch {
        socket.destroy()
      }
    }
    socket.on('error', () => socket.destroy())
    socket.once('end', resolve)
    socket.once('close', resolve)
    if (head.length > 0) take(head)
    socket.on('data', take)
  })
}
