/** From the start of the process to a ready server, and what it holds then; beside it a bare node:http2 server. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Bench } from '../scripts/bench.ts'
import { freePort } from '../test/support/free-port.ts'

const repository = join(import.meta.dirname, '..')
const bareServer = "import { createServer } from 'node:http2'\ncreateServer().listen(0, '127.0.0.1', () => console.log('is ready'))"

/** Components that are run alone: the arguments they need beside the kubeconfig, and where they say that they are ready. */
const components: Record<string, (port: number, directory: string) => { args: string[]; url: string }> = {
  scheduler: securely,
  'controller-manager': securely,
  kubelet: (port, directory) => ({
    args: [
      ...['--healthz-port', String(port), '--port', '0', '--root-dir', join(directory, 'kubelet'), '--hostname-override', 'bench'],
      ...['--container-runtime-endpoint', `unix://${join(directory, 'runtime.sock')}`],
    ],
    url: `http://127.0.0.1:${port}/healthz`,
  }),
}

function securely(port: number) {
  const args = ['--secure-port', String(port), '--bind-address', '127.0.0.1', '--leader-elect=false']
  return { args, url: `https://127.0.0.1:${port}/healthz` }
}

type Start = { ms: number; megabytes: number }

async function started(args: string[], isFirst = false): Promise<Start> {
  const begin = performance.now()
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(repository, '.cache', 'compiled') },
  })
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (text: Buffer) => {
      if (String(text).includes('is ready')) resolve()
    })
  })
  const ms = performance.now() - begin
  // Modules are kept for the next start a little later.
  if (isFirst) await setTimeout(2500)
  const megabytes = residentMegabytes(child.pid)
  child.kill('SIGKILL')
  return { ms, megabytes }
}

function residentMegabytes(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** The best of some: the machine's other work only ever adds. */
async function best(start: () => Promise<Start>): Promise<Start> {
  const runs: Start[] = []
  for (let run = 0; run < 5; run++) runs.push(await start())
  return { ms: Math.min(...runs.map(({ ms }) => ms)), megabytes: Math.min(...runs.map(({ megabytes }) => megabytes)) }
}

/** User and system time of a program, to its end: the least of some. */
async function cpuOf(args: readonly string[]): Promise<number> {
  const costs: number[] = []
  for (let run = 0; run < 5; run++) {
    const { stderr } = spawnSync('bash', ['-c', 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1', 'bash', process.execPath, ...args], {
      encoding: 'utf8',
      env: { ...process.env, NODE_COMPILE_CACHE: join(repository, '.cache', 'compiled') },
    })
    const [user = 0, system = 0] = stderr.trim().split(' ').map(Number)
    costs.push(1000 * (user + system))
  }
  return Math.min(...costs)
}

/** What is typed all day; `status` of a cluster that runs. */
async function commandCosts(dataDir: string): Promise<Record<string, number>> {
  const program = join(repository, 'bin/typernetes.js')
  const place = ['--data-dir', dataDir]
  spawnSync(process.execPath, [program, 'up', '-d', ...place, '--runtime', 'sim', '--api-port', '0'])
  try {
    return {
      '--help': await cpuOf([program, '--help']),
      'up --help': await cpuOf([program, 'up', '--help']),
      version: await cpuOf([program, 'version']),
      status: await cpuOf([program, 'status', ...place]),
    }
  } finally {
    spawnSync(process.execPath, [program, 'delete', ...place])
  }
}

/** From the start of the process until a pod runs on the simulated node of a new cluster. */
async function untilPodRuns(directory: string): Promise<Start> {
  const dataDir = mkdtempSync(join(directory, 'pod-'))
  const begin = performance.now()
  const program = join(repository, 'bin/typernetes.js')
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [program, ...args], { env: { ...process.env, KUBECONFIG: join(dataDir, 'admin.kubeconfig') } })
  run('up', '-d', '--data-dir', dataDir, '--runtime', 'sim', '--api-port', '0')
  run('kubectl', 'run', 'first', '--image=nginx')
  run('kubectl', 'wait', 'pod/first', '--for=condition=Ready', '--timeout=60s')
  const ms = performance.now() - begin
  run('delete', '--data-dir', dataDir)
  return { ms, megabytes: 0 }
}

export default async function (bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  const up = async (...flags: string[]) =>
    started([join(repository, 'bin/typernetes.js'), 'up', '--runtime', 'none', '--api-port', String(await freePort()), ...flags])
  const bare = await best(() => started(['--input-type=module', '-e', bareServer]))
  const bareCpu = await cpuOf(['-e', '0'])
  let count = 0
  const comparedWith = 'a bare node:http2 server'
  const report = (name: string, { ms, megabytes }: Start) => {
    bench.report({ case: `${name}: process start to ready`, figure: ms, unit: 'ms', comparedWith, ratio: ms / bare.ms })
    bench.report({ case: `${name}: resident then`, figure: megabytes, unit: 'MB', comparedWith, ratio: megabytes / bare.megabytes })
  }
  const alone = ['--controllers=', '--scheduler=false']
  for (const flags of [alone, []]) {
    const port = String(await freePort())
    await started(
      [
        join(repository, 'bin/typernetes.js'),
        'up',
        '--runtime',
        'none',
        '--api-port',
        port,
        '--data-dir',
        join(directory, 'warm'),
        ...flags,
      ],
      true,
    )
  }
  report('API server, first start', await best(() => up('--data-dir', join(directory, `first-${count++}`), ...alone)))
  report('API server, second start', await best(() => up('--data-dir', join(directory, 'first-0'), ...alone)))
  const { ms: podMs } = await best(() => untilPodRuns(directory))
  bench.report({ case: 'up -d, first start, to a running pod', figure: podMs, unit: 'ms', comparedWith, ratio: podMs / bare.ms })
  report('with controllers and scheduler', await best(() => up('--data-dir', join(directory, 'first-1'))))
  await runAlone(join(directory, 'first-2'), directory, report)
  for (const [name, figure] of Object.entries(await commandCosts(join(directory, 'commands')))) {
    bench.report({ case: `${name}: CPU`, figure, unit: 'ms', comparedWith: 'node -e 0', ratio: figure / bareCpu })
  }
  rmSync(directory, { recursive: true, force: true })
}

/** Each component against a server that has none of them. The kubelet has the embedded runtime, and no pod. */
async function runAlone(dataDir: string, directory: string, report: (name: string, start: Start) => void): Promise<void> {
  const program = join(repository, 'bin/typernetes.js')
  const port = String(await freePort())
  const flags = ['--runtime', 'none', '--controllers=', '--scheduler=false', '--api-port', port, '--data-dir', dataDir]
  const others = [
    spawn(process.execPath, [program, 'up', ...flags], { stdio: 'ignore' }),
    spawn(
      process.execPath,
      [program, 'runtime', '--root', join(directory, 'runtime'), '--listen', join(directory, 'runtime.sock'), '--cni-conf-dir', directory],
      { stdio: 'ignore' },
    ),
  ]
  try {
    while (!(await answers(`https://127.0.0.1:${port}/readyz`)) || !existsSync(join(directory, 'runtime.sock'))) await setTimeout(20)
    for (const [name, needs] of Object.entries(components)) {
      const run = async (): Promise<Start> => {
        const { args, url } = needs(await freePort(), directory)
        const begin = performance.now()
        const child = spawn(process.execPath, [program, name, '--kubeconfig', join(dataDir, 'admin.kubeconfig'), ...args], {
          stdio: 'ignore',
          env: { ...process.env, NODE_COMPILE_CACHE: join(repository, '.cache', 'compiled') },
        })
        while (!(await answers(url)) && child.exitCode === null) await setTimeout(10)
        if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`)
        const ms = performance.now() - begin
        await setTimeout(1500)
        const megabytes = residentMegabytes(child.pid)
        child.kill()
        await once(child, 'exit')
        return { ms, megabytes }
      }
      await run()
      report(`${name}, run alone`, await best(run))
    }
  } finally {
    for (const child of others) child.kill()
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = url.startsWith('https') ? https.get(url, { rejectUnauthorized: false }) : http.get(url)
    asked.on('response', (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    asked.on('error', () => resolve(false))
  })
}
