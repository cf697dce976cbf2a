/** A cluster in a process of its own, for tests that use real clients; gone when the test ends. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnProgram } from './child-output.ts'
import { freePort } from './free-port.ts'

export type RunningCluster = AsyncDisposable & {
  readonly url: string
  readonly token: string
  readonly kubeconfig: string
  readonly directory: string
  readonly process: ChildProcess
  /** Everything it wrote so far. */
  output(): string
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

const repository = join(import.meta.dirname, '..', '..')

/** A start that takes longer hangs. */
const startLimitMs = 180_000

/** Starts `typernetes up` with these further flags, without a real node unless they speak of one, and resolves once it is ready. Leaves no process behind when it fails. */
export async function startCluster(
  flags: readonly string[] = [],
  directory = mkdtempSync(join(tmpdir(), 'tn test ')),
  fixedPort?: number,
): Promise<RunningCluster> {
  const port = fixedPort ?? (await freePort())
  const token = 'test-token'
  const args = ['up', '--data-dir', join(directory, 'data'), '--api-port', String(port), '--token', token, '--runtime', 'none', ...flags]
  const { child, exited, output, writes } = spawnProgram(process.execPath, [join(repository, 'src/cmd/main.ts'), ...args])
  await writes(/The cluster is ready/, startLimitMs).catch((error: Error) => {
    throw new Error(`the cluster is not ready: ${error.message}`)
  })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return exited
  }
  return {
    url: `https://127.0.0.1:${port}`,
    token,
    kubeconfig: join(directory, 'data', 'admin.kubeconfig'),
    directory,
    process: child,
    output,
    stop,
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL')
      rmSync(directory, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}
