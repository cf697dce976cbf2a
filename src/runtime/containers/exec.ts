/** Commands that are run in containers. */

import type { Duplex, Readable, Writable } from 'node:stream'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { descriptors } from '#base/descriptors.ts'
import { endedOrQuiet } from '#base/ended-or-quiet.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Processes } from '#base/processes.ts'
import { controllersFor, procsFiles } from '#runtime/cgroups/container-cgroup.ts'
import { exitCodeOf } from '#runtime/containers/exit-record.ts'
import { type ExecSpec, execScript } from '#runtime/launch/exec-script.ts'
import { LaunchError, type Launcher } from '#runtime/launch/launcher.ts'
import type { ProcessSpec } from '#runtime/launch/process-spec.ts'
import type { ContainerRecord } from '#runtime/records.ts'
import { namespaceModes } from '#wire/cri/cri-types.ts'

export type ExecSeams = { launcher: Launcher; cgroups: CgroupFiles | undefined; clock: Clock; processes: Processes }

export type RunningCommand = {
  readonly stdin: Writable | undefined
  readonly stdout: Readable | undefined
  readonly stderr: Readable | undefined
  /** In place of all three, where it has a terminal. */
  readonly terminal: Duplex | undefined
  resize(size: { columns: number; rows: number }): void
  /** Rejects where there is no such program. */
  readonly exitCode: Promise<number>
  kill(): void
}

/** What still holds the output of a command that has ended is not waited for longer. */
const outputPatienceMs = 200
const mostOutputBytes = 16 << 20
/** What is beyond the most is read and dropped, so that the command can end; one that writes this much would not. */
const mostReadBytes = 64 << 20

export async function startCommand(
  record: ContainerRecord,
  args: readonly string[],
  { hasTerminal, hasStdin }: { hasTerminal: boolean; hasStdin: boolean },
  seams: ExecSeams,
): Promise<RunningCommand> {
  const { launcher, cgroups, processes } = seams
  const pid = record.process?.pid
  if (pid === undefined) throw new GrpcError(grpcCodes.unknown, 'the container has no process')
  const script = execScript(
    {
      process: processFor(record, args, hasTerminal),
      pid,
      cgroupProcs: cgroups === undefined ? [] : procsFiles(cgroups, record.cgroup, controllersFor(cgroups, record.resources)),
      namespaces: namespacesOf(record),
    },
    launcher.architecture,
  )
  const name = `typernetes: exec in ${record.config.metadata.name}`
  const streams = hasTerminal ? (['nothing', 'nothing', 'nothing'] as const) : ([hasStdin ? 'pipe' : 'nothing', 'pipe', 'pipe'] as const)
  const launched = await launcher.launch({ script, name, streams, hasTerminal }, { waitsForEnd: true }).catch((error: unknown) => {
    throw failed(error)
  })
  const { process, ended, terminal } = launched
  const stream = terminal === undefined ? undefined : descriptors.terminalStream(terminal)
  stream?.on('error', () => stream.destroy())
  return {
    stdin: process.stdin ?? undefined,
    stdout: process.stdout ?? undefined,
    stderr: process.stderr ?? undefined,
    terminal: stream,
    resize: (size) => {
      if (terminal !== undefined && !stream?.destroyed) descriptors.setTerminalSize(terminal, size)
    },
    exitCode: ended.then(
      (status) => exitCodeOf(status ?? 0),
      (error: unknown) => {
        throw failed(error)
      },
    ),
    kill() {
      // It leads a group of its own, unless it was not that far yet; what it has started and left behind is in it.
      if (launched.pid > 1) processes.kill(-launched.pid, 'SIGKILL')
      processes.kill(launched.pid, 'SIGKILL')
    },
  }
}

/** Those of the node are the ones that the command is started in; a user other than root could not enter them again. */
function namespacesOf({ config, hasCgroupNamespace, users }: ContainerRecord): ExecSpec['namespaces'] {
  const { network, ipc, pid } = config.linux?.securityContext?.namespaceOptions ?? {}
  return [
    'mount',
    ...(users === undefined ? [] : (['user'] as const)),
    ...(network === namespaceModes.node ? [] : (['net', 'uts'] as const)),
    ...(ipc === namespaceModes.node ? [] : (['ipc'] as const)),
    ...(pid === namespaceModes.node ? [] : (['pid'] as const)),
    ...(hasCgroupNamespace ? (['cgroup'] as const) : []),
  ]
}

function failed(error: unknown): unknown {
  if (!(error instanceof LaunchError)) return error
  return new GrpcError(
    grpcCodes.unknown,
    `failed to exec in container: failed to start exec: OCI runtime exec failed: exec failed: unable to start container process: ${error.message}: unknown`,
  )
}

/** Runs it to its end. */
export async function runCommand(record: ContainerRecord, args: readonly string[], timeoutMs: number, seams: ExecSeams) {
  const command = await startCommand(record, args, { hasTerminal: false, hasStdin: false }, seams)
  const [stdout, stderr] = [collected(command.stdout), collected(command.stderr)]
  const over = new AbortController()
  const limit =
    timeoutMs > 0
      ? seams.clock.sleep(timeoutMs, over.signal).then(
          () => 'late' as const,
          () => 'over' as const,
        )
      : undefined
  const outcome = await Promise.race([command.exitCode, ...(limit === undefined ? [] : [limit])]).finally(() => over.abort())
  if (outcome === 'late' || outcome === 'over') {
    command.kill()
    command.stdout?.destroy()
    command.stderr?.destroy()
    throw new GrpcError(
      grpcCodes.deadlineExceeded,
      `failed to exec in container: timeout ${timeoutMs / 1000}s exceeded: context deadline exceeded`,
    )
  }
  const sources = [command.stdout, command.stderr].filter((source) => source !== undefined)
  await endedOrQuiet(sources, { clock: seams.clock, quietMs: outputPatienceMs, longestMs: 10 * outputPatienceMs })
  command.stdout?.destroy()
  command.stderr?.destroy()
  return { exitCode: outcome, stdout: stdout.bytes(), stderr: stderr.bytes() }
}

function collected(stream: Readable | undefined) {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  stream?.on('data', (piece: Uint8Array) => {
    sizeBytes += piece.length
    if (sizeBytes <= mostOutputBytes) pieces.push(piece)
    else if (sizeBytes > mostReadBytes) stream.destroy()
  })
  stream?.on('error', () => {})
  return { bytes: () => Buffer.concat(pieces) }
}

function processFor(record: ContainerRecord, args: readonly string[], hasTerminal: boolean): ProcessSpec {
  const { identity, user, env } = record
  const { directory = '/', hasNoNewPrivileges = false, maySetGroups = true, capabilities = '0', ambient = '0', seccomp } = identity ?? {}
  const oomScoreAdjust = record.config.linux?.resources?.oomScoreAdj
  return {
    ...{ args, directory, hasNoNewPrivileges, maySetGroups, hasTerminal, ...user },
    env: hasTerminal && !env.some((variable) => variable.startsWith('TERM=')) ? [...env, 'TERM=xterm'] : env,
    capabilities: BigInt(capabilities),
    ambient: BigInt(ambient),
    ...defined({ oomScoreAdjust, seccompFilter: seccomp === undefined ? undefined : Buffer.from(seccomp, 'base64') }),
  }
}
