/** A cluster in a process of its own, for tests that use real clients; gone when the test ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
const startLimitMs = 60_000

/** Starts `typernetes up` with these further flags, without a real node unless they speak of one, and resolves once it is ready. Leaves no process behind when it fails. */
export async function startCluster(
  flags: readonly string[] = [],
  directory = mkdtempSync(join(tmpdir(), 'tn test ')),
  fixedPort?: number,
): Promise<RunningCluster> {
  const port = fixedPort ?? (await freePort())
  const token = 'test-token'
  const args = ['up', '--data-dir', join(directory, 'data'), '--api-port', String(port), '--token', token, '--runtime', 'none', ...flags]
  const child = spawn(process.execPath, [join(repository, 'src/cmd/main.ts'), ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const exited = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)))
  // A test that gives up leaves nothing running, either.
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  void exited.then(() => process.off('exit', kill))
  const limit = setTimeout(() => child.kill('SIGKILL'), startLimitMs)
  await new Promise<void>((resolve, reject) => {
    const read = (text: Buffer) => {
      output += text
      if (output.includes('The cluster is ready')) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exited.then((code) => reject(new Error(`the cluster ended with ${code} before it was ready:\n${output}`)))
  }).finally(() => clearTimeout(limit))
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
    output: () => output,
    stop,
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
