/** Starts scripts, and hears what becomes of them. */
import { defined } from '#base/defined.ts'
import { descriptors } from '#base/descriptors.ts'
import { type LaunchedProcess, type LaunchStream, launchProcess, type MemoryProgram, memoryProgram } from '#base/launches.ts'
import { errorTextOf, thisProcessor } from '#base/system-calls.ts'
import { news } from '#runtime/launch/container-script.ts'
import { type LaunchProgram, launchProgram } from '#runtime/launch/launch-program.ts'
import type { LaunchScript } from '#runtime/launch/launch-script.ts'
import { terminalEnds } from '#runtime/launch/process-steps.ts'
import { usersNews } from '#runtime/launch/user-steps.ts'

export class LaunchError extends Error {
  override name = 'LaunchError'
}

export type Launch = {
  script: LaunchScript
  name: string
  streams: readonly [LaunchStream, LaunchStream, LaunchStream]
  further?: readonly number[]
  hasTerminal?: boolean
  /** Says who is who in the user namespace that the process has made. */
  onUsers?(pid: number): void
}

export type Launched = {
  process: LaunchedProcess
  /** The process that the script has forked. */
  pid: number
  /** The outer end of its terminal; the caller's to close. */
  terminal?: number
  /** How it ended as the kernel says it, where the script tells. */
  ended: Promise<number | undefined>
}

export class Launcher implements Disposable {
  readonly program: LaunchProgram = launchProgram(thisProcessor)
  readonly architecture = thisProcessor
  readonly #memory: MemoryProgram

  constructor() {
    this.#memory = memoryProgram('typernetes-launch', this.program.bytes)
  }

  /**
   * Resolves once the process is the program it is to be. With `waitsForEnd`, where the script itself tells of the end, as soon as there is a
   * process; `ended` then rejects when it could not become the program. Fails with `LaunchError` when a step failed.
   */
  async launch(
    { script, name, streams, further = [], hasTerminal = false, onUsers }: Launch,
    { waitsForEnd = false } = {},
  ): Promise<Launched> {
    const process = await launchProcess({ program: this.#memory, name, script: script.write(), streams, further })
    const started = Promise.withResolvers<Launched>()
    const ended = Promise.withResolvers<number | undefined>()
    // Whoever awaits the end gets the failure.
    ended.promise.catch(() => {})
    let pid = 0
    let terminal: number | undefined
    let rest = Buffer.alloc(0)
    const resolve = () => started.resolve({ process, pid, ended: ended.promise, ...defined({ terminal }) })
    const fail = (error: unknown) => {
      started.reject(error)
      ended.reject(error)
    }
    process.status.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      for (; rest.length >= 16; rest = rest.subarray(16)) {
        const [kind, value] = [rest.readBigInt64LE(0), Number(rest.readBigInt64LE(8))]
        if (kind === news.pid) {
          pid = value
          if (waitsForEnd && !hasTerminal) resolve()
        } else if (kind === news.terminal) {
          try {
            terminal = descriptors.takeFrom(process.pid, terminalEnds.outer)
          } catch (error) {
            fail(error)
          }
          process.status.write(Buffer.alloc(1))
          if (waitsForEnd) resolve()
        } else if (kind === usersNews) {
          try {
            onUsers?.(process.pid)
            process.status.write(Buffer.alloc(1))
          } catch (error) {
            fail(error)
            process.kill()
          }
        } else if (kind === news.exit) ended.resolve(value)
        else fail(new LaunchError(failureText(script, Number(kind), -value)))
      }
    })
    process.status.on('close', () => {
      if (pid > 0) resolve()
      fail(new LaunchError('the process ended before it was ready'))
    })
    return started.promise.catch((error: unknown) => {
      if (terminal !== undefined) descriptors.close(terminal)
      throw error
    })
  }

  [Symbol.dispose](): void {
    this.#memory[Symbol.dispose]()
  }
}

function failureText(script: LaunchScript, address: number, errno: number): string {
  const { what } = script.labelAt(address)
  return what.endsWith('$PATH') && errno === 2 ? what : `${what}: ${errorTextOf(errno)}`
}
