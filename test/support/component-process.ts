/** A component in a process of its own. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { spawnProgram } from './child-output.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'typernetes.js')
const startLimitMs = 180_000

export type ComponentProcess = AsyncDisposable & {
  readonly child: ChildProcess
  output(): string
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/**
 * Resolves once it has written what `isReady` looks for. `before` is what the program is started by, such as `ip netns exec NAME`; `script`
 * may be the program of another version.
 */
export async function startComponent(
  args: readonly string[],
  isReady: RegExp,
  before: readonly string[] = [],
  script: string = program,
): Promise<ComponentProcess> {
  const [command = '', ...rest] = [...before, process.execPath, script, ...args]
  const { child, exited, output, writes } = spawnProgram(command, rest)
  await writes(isReady, startLimitMs).catch((error: Error) => {
    throw new Error(`${args[0]} is not ready: ${error.message}`)
  })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return exited
  }
  return { child, output, stop, [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')) }
}
