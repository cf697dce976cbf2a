/** A component in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const startLimitMs = 60_000

export type ComponentProcess = AsyncDisposable & {
  readonly child: ChildProcess
  output(): string
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Resolves once it has written what `isReady` looks for. `before` is what the program is started by, such as `ip netns exec NAME`. */
export async function startComponent(args: readonly string[], isReady: RegExp, before: readonly string[] = []): Promise<ComponentProcess> {
  const [command = '', ...rest] = [...before, process.execPath, program, ...args]
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  void exited.then(() => process.off('exit', kill))
  const limit = setTimeout(kill, startLimitMs)
  await new Promise<void>((resolve, reject) => {
    const read = (text: Buffer) => {
      output += text
      if (isReady.test(output)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exited.then((code) => reject(new Error(`${args[0]} ended with ${code}:\n${output}`)))
  }).finally(() => clearTimeout(limit))
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return exited
  }
  return { child, output: () => output, stop, [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')) }
}
