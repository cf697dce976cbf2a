/** The real kubectl, in every version that this machine has. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

export type KubectlResult = { exitCode: number; stdout: string; stderr: string }
export type Kubectl = {
  version: string
  run(args: readonly string[], options?: { input?: string; environment?: Record<string, string> }): KubectlResult
}

/** By minor version, oldest first; empty where there is none. */
export function installedKubectls(): { version: string; path: string }[] {
  const found = spawnSync('sh', ['-c', 'command -v kubectl'], { encoding: 'utf8' }).stdout.trim()
  if (found === '') return []
  const real = realpathSync(found)
  const beside = readdirSync(dirname(real)).filter((name) => /^kubectl\.1\.\d+$/.test(name))
  const paths = beside.length > 0 ? beside.map((name) => join(dirname(real), name)) : [real]
  return paths
    .filter((path) => existsSync(path))
    .map((path) => ({ path, version: /1\.\d+$/.exec(basename(path))?.[0] ?? versionOf(path) }))
    .sort((left, right) => minor(left.version) - minor(right.version))
}

function versionOf(path: string): string {
  const { stdout } = spawnSync(path, ['version', '--client', '-o', 'json'], { encoding: 'utf8' })
  const { major, minor: each } = (JSON.parse(stdout) as { clientVersion: { major: string; minor: string } }).clientVersion
  return `${major}.${each}`
}

function minor(version: string): number {
  return Number(version.split('.')[1])
}

const caches: string[] = []
process.on('exit', () => {
  for (const directory of caches) rmSync(directory, { recursive: true, force: true })
})

/** Discovery is cached per server and port for hours: each test gets a cache of its own, which goes with the test's process. */
function discoveryCache(): string {
  const directory = mkdtempSync(join(tmpdir(), 'kube-cache-'))
  caches.push(directory)
  return directory
}

export function kubectl(path: string, version: string, kubeconfig: string): Kubectl {
  const cache = discoveryCache()
  return {
    version,
    run(args, { input, environment = {} } = {}) {
      const { status, stdout, stderr } = spawnSync(path, ['--kubeconfig', kubeconfig, '--cache-dir', cache, ...args], {
        encoding: 'utf8',
        timeout: 200_000,
        maxBuffer: 64 << 20,
        env: { ...process.env, KUBECONFIG: kubeconfig, ...environment },
        ...(input === undefined ? {} : { input }),
      })
      return { exitCode: status ?? 128, stdout, stderr }
    },
  }
}

/** As `kubectl`, without holding up this process: for tests that serve what kubectl asks for. */
export function kubectlBeside(path: string, kubeconfig: string): (args: readonly string[], input?: string) => Promise<KubectlResult> {
  const cache = discoveryCache()
  return (args, input) =>
    new Promise((resolve) => {
      const child = spawn(path, ['--kubeconfig', kubeconfig, '--cache-dir', cache, ...args], {
        timeout: 200_000,
        env: { ...process.env, KUBECONFIG: kubeconfig },
      })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (piece) => {
        stdout += String(piece)
      })
      child.stderr.on('data', (piece) => {
        stderr += String(piece)
      })
      child.on('close', (code) => resolve({ exitCode: code ?? 128, stdout, stderr }))
      // It may end without having read everything.
      child.stdin.on('error', () => {})
      child.stdin.end(input)
    })
}

/** `kubectl port-forward` to a pod or service, from a free port of this machine. */
export async function portForward(
  { path, kubeconfig }: { path: string; kubeconfig: string },
  target: string,
  port: string | number,
): Promise<AsyncDisposable & { url: string }> {
  const cache = discoveryCache()
  const args = ['--kubeconfig', kubeconfig, '--cache-dir', cache, 'port-forward', target, `:${port}`]
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const local = await new Promise<string>((resolve, reject) => {
    const read = (data: Buffer) => {
      output += String(data)
      const [, found] = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(output) ?? []
      if (found !== undefined) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', (code) => reject(new Error(`kubectl port-forward ended with ${code}: ${output}`)))
  })
  return {
    url: `http://127.0.0.1:${local}`,
    async [Symbol.asyncDispose]() {
      child.removeAllListeners('exit')
      child.kill()
    },
  }
}
