/** Starts a program that lies in memory alone, with descriptors of the caller's choice. */
import { spawn } from 'node:child_process'
import { closeSync, writeSync } from 'node:fs'
import { type Duplex, PassThrough, type Readable, type Writable } from 'node:stream'
import { systemCall } from '#base/system-calls.ts'

export type LaunchOptions = {
  program: MemoryProgram
  /** What the process is called in lists of processes. */
  name: string
  /** What the program finds as descriptor 4. */
  script: Uint8Array
  /** Descriptors 0, 1 and 2: open ones, pipes to us, or nothing. */
  streams: readonly [LaunchStream, LaunchStream, LaunchStream]
  /** Descriptors 5 and on. */
  further?: readonly number[]
}

export type LaunchStream = number | 'pipe' | 'nothing'

export type LaunchedProcess = {
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** Both ways; the program's descriptor 3. */
  readonly status: Duplex
  readonly exited: Promise<void>
  kill(): void
}

/** A program nobody can change, not even who runs it and is root. */
export type MemoryProgram = Disposable & { readonly descriptor: number }

const closeOnExec = 1
const allowSealing = 2
const mayRun = 0x10
const addSeals = 1033
const sealAll = 1 | 2 | 4 | 8

export function memoryProgram(name: string, bytes: Uint8Array): MemoryProgram {
  const descriptor = executableMemory(name)
  writeSync(descriptor, bytes)
  systemCall('fcntl', descriptor, addSeals, sealAll)
  return { descriptor, [Symbol.dispose]: () => closeSync(descriptor) }
}

/** Some machines let memory be run only where that was asked for; kernels before 6.3 know no such wish. */
function executableMemory(name: string): number {
  try {
    return systemCall('memfd_create', name, closeOnExec | allowSealing | mayRun)
  } catch {
    return systemCall('memfd_create', name, closeOnExec | allowSealing)
  }
}

/** Lives on after this process, in a session of its own. Descriptors stay open here. */
export function launchProcess({ program, name, script, streams, further = [] }: LaunchOptions): Promise<LaunchedProcess> {
  const scriptDescriptor = systemCall('memfd_create', 'script', closeOnExec)
  try {
    writeSync(scriptDescriptor, script)
    const stdio = [...streams.map((stream) => (stream === 'nothing' ? 'ignore' : stream)), 'pipe', scriptDescriptor, ...further]
    const child = spawn(`/proc/self/fd/${program.descriptor}`, [], {
      argv0: name,
      env: {},
      cwd: '/',
      detached: true,
      stdio: stdio as never,
    })
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    return new Promise((resolve, reject) => {
      // First of all: where no descriptor was left, the child has no streams, and says why in the next moment.
      child.on('error', reject)
      child.once('spawn', () => {
        child.unref()
        const { stdin } = child
        const status = child.stdio[3] as unknown as Duplex
        // Node throws away what nobody listens for when the process ends: a fast one ends before anybody could.
        const kept = (stream: Readable | null) => {
          if (stream === null) return null
          const passed = stream.on('error', () => {}).pipe(new PassThrough())
          // Who reads no more closes the pipe, so that the program hears of it.
          return passed.once('close', () => stream.destroy())
        }
        const [stdout, stderr] = [kept(child.stdout), kept(child.stderr)]
        // Whoever reads no more is told by the end of the process.
        stdin?.on('error', () => {})
        status.on('error', () => {})
        resolve({ pid: child.pid ?? 0, stdin, stdout, stderr, status, exited, kill: () => child.kill('SIGKILL') })
      })
    })
  } finally {
    closeSync(scriptDescriptor)
  }
}
