/** Node programs in processes of their own, measured from inside. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Measured } from './measure.ts'

export type MeasuredProcess = AsyncDisposable & {
  readonly child: ChildProcess
  /** From the start of the process until it printed that it is ready. */
  readonly readyAfterMs: number
  output(): string
  /** Measuring starts over. */
  start(): Promise<Measured>
  /** The same, for processor time alone. */
  count(): Promise<Measured>
  report(): Promise<Measured>
  /** What is resident after a collection. */
  collect(): Promise<Measured>
  /** Where the main thread spends its time, until `endProfile`, which writes it to the file of `PROFILE_FILE`. */
  profile(): Promise<Measured>
  endProfile(): Promise<Measured>
  stop(): Promise<void>
}

const repository = join(import.meta.dirname, '..', '..')
const preload = join(import.meta.dirname, 'measure.ts')

export type MeasuredOptions = { readyText: string; nodeArgs?: readonly string[]; environment?: Record<string, string> }

export async function startMeasured(
  script: string,
  args: readonly string[],
  { readyText, nodeArgs = [], environment = {} }: MeasuredOptions,
): Promise<MeasuredProcess> {
  const startedMs = performance.now()
  const child = spawn(process.execPath, ['--expose-gc', '--import', preload, ...nodeArgs, join(repository, script), ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { NODE_COMPILE_CACHE: join(repository, '.cache', 'compiled'), ...process.env, ...environment },
  })
  let output = ''
  const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    const read = (text: Buffer) => {
      output += text
      if (output.includes(readyText)) resolve()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    void exited.then(() => reject(new Error(`${script} ended before it was ready:\n${output}`)))
  })
  const readyAfterMs = performance.now() - startedMs
  const ask = (question: string) =>
    new Promise<Measured>((resolve, reject) => {
      child.once('message', (answer) => resolve(answer as Measured))
      child.send(question, (error) => error && reject(error))
    })
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await exited
  }
  return {
    child,
    readyAfterMs,
    output: () => output,
    start: () => ask('start'),
    count: () => ask('count'),
    report: () => ask('report'),
    collect: () => ask('collect'),
    profile: () => ask('profile'),
    endProfile: () => ask('end profile'),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Runs a script that prints one line of JSON. */
export function runJson<T>(script: string, request: object): Promise<T> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(repository, script), JSON.stringify(request)], { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (text: Buffer) => {
      output += text
    })
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(JSON.parse(output) as T) : reject(new Error(`${script} ended with ${code}`))))
  })
}
