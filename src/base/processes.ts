import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** Other programs, started and awaited. */
export type Processes = {
  /** Runs a program to its end. Rejects only when it could not be started, or has written more than anybody would read. */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<RunResult>
  /** Starts a program that lives on; its streams are the caller's to read. */
  start(command: string, args: readonly string[], options?: StartOptions): Promise<RunningProcess>
  /** Whether a process of that id lives, whoever's it is; one that has ended does not, though its parent has not heard of it yet. */
  isAlive(pid: number): boolean
  /** Does nothing when the process is gone. */
  kill(pid: number, signal: NodeJS.Signals | number): void
}

export type RunOptions = {
  input?: string | Uint8Array
  environment?: Record<string, string>
  directory?: string
  signal?: AbortSignal
  /** It is killed after so long, and the call rejects. */
  timeoutMs?: number
  /** What the program has in common with ours: our input, which a person may type into, and our standard error. */
  shares?: { input?: boolean; errors?: boolean }
}
export type RunResult = { exitCode: number; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type StartOptions = {
  environment?: Record<string, string>
  directory?: string
  /** Lives on after this process ends, in a session of its own. */
  detached?: boolean
  /** Where its output goes: to the caller (`pipe`), to ours (`inherit`), nowhere, or to an open file. */
  output?: 'pipe' | 'inherit' | 'ignore' | number
}

export type RunningProcess = {
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  readonly exited: Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>
  kill(signal?: NodeJS.Signals): void
  /** Whether our own process goes on while this one does; it does unless told otherwise. */
  hold?(isHeld: boolean): void
}

/** Of what `run` keeps: a program that writes on and on has gone astray. */
const mostOutput = 64 << 20

type Held = { ref(): void; unref(): void }

export const nodeProcesses: Processes = {
  run(command, args, options = {}) {
    return new Promise((resolve, reject) => {
      const { shares = {}, timeoutMs } = options
      const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
      const signal = late === undefined || options.signal === undefined ? (late ?? options.signal) : AbortSignal.any([late, options.signal])
      const stdio = [shares.input ? 'inherit' : 'pipe', 'pipe', shares.errors ? 'inherit' : 'pipe'] as const
      const child = spawn(command, args, {
        ...spawnOptions(options),
        stdio: [...stdio],
        ...defined({ signal, killSignal: late && 'SIGKILL' }),
      })
      let stdout = ''
      let stderr = ''
      const mustBeShort = (text: string) => {
        if (text.length <= mostOutput) return
        child.stdout?.destroy()
        child.stderr?.destroy()
        child.kill('SIGKILL')
        reject(new Error(`${command} has written more than ${mostOutput} characters`))
      }
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        stdout += text
        mustBeShort(stdout)
      })
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        stderr += text
        mustBeShort(stderr)
      })
      child.on('error', (error) => reject(late?.aborted ? new Error(`${command} has not ended within ${timeoutMs} ms`) : error))
      child.on('close', (code, signal) => resolve({ exitCode: code ?? 128, signal, stdout, stderr }))
      // A program that ends before it has read its input is known by its exit code.
      child.stdin?.on('error', () => {})
      child.stdin?.end(options.input ?? '')
    })
  },
  start(command, args, options = {}) {
    return new Promise((resolve, reject) => {
      const output = options.output ?? 'pipe'
      const child = spawn(command, args, {
        ...spawnOptions(options),
        detached: options.detached ?? false,
        stdio: [output === 'pipe' ? 'pipe' : 'ignore', output, output],
      })
      const exited = new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>((ended) => {
        child.on('exit', (exitCode, signal) => ended({ exitCode, signal }))
      })
      child.once('error', reject)
      child.once('spawn', () => {
        if (options.detached) child.unref()
        resolve({
          pid: child.pid ?? 0,
          stdin: child.stdin,
          stdout: child.stdout,
          stderr: child.stderr,
          exited,
          kill: (signal = 'SIGTERM') => child.kill(signal),
          hold(isHeld) {
            for (const part of [child, child.stdin, child.stdout, child.stderr] as (Partial<Held> | null)[]) {
              if (isHeld) part?.ref?.()
              else part?.unref?.()
            }
          },
        })
      })
    })
  },
  isAlive(pid) {
    try {
      process.kill(pid, 0)
      return !isZombie(pid)
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'EPERM'
    }
  },
  kill(pid, signal) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  },
}

/** It has ended, and only waits for its parent to hear of it, which may take seconds. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    // It is gone meanwhile.
    return true
  }
}

function spawnOptions({ environment, directory }: { environment?: Record<string, string>; directory?: string }) {
  return { ...defined({ env: environment && { ...process.env, ...environment } }), ...omitEmpty({ cwd: directory }) }
}
