/** From the start of the process to a ready server, and what it holds then; beside it a bare node:http2 server. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { freePort } from '../test/support/running-cluster.ts'

const repository = join(import.meta.dirname, '..')
const bareServer = "import { createServer } from 'node:http2'\ncreateServer().listen(0, '127.0.0.1', () => console.log('is ready'))"

/** What components load when they are run alone; they do not start, for want of a server. */
const components = {
  scheduler: 'scheduler/scheduler.ts',
  'controller manager': 'controller-manager/controller-manager.ts',
  kubelet: 'kubelet/kubelet.ts',
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
  if (isFirst) await new Promise((resolve) => setTimeout(resolve, 2500))
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
  child.kill('SIGKILL')
  return { ms, megabytes: Number(kilobytes) / 1024 }
}

/** The best of some: the machine's other work only ever adds. */
async function best(start: () => Promise<Start>): Promise<Start> {
  const runs: Start[] = []
  for (let run = 0; run < 5; run++) runs.push(await start())
  return { ms: Math.min(...runs.map(({ ms }) => ms)), megabytes: Math.min(...runs.map(({ megabytes }) => megabytes)) }
}

export default async function (bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  const up = async (...flags: string[]) =>
    started([join(repository, 'bin/typernetes.js'), 'up', '--runtime', 'none', '--api-port', String(await freePort()), ...flags])
  const bare = await best(() => started(['--input-type=module', '-e', bareServer]))
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
  report('with controllers and scheduler', await best(() => up('--data-dir', join(directory, 'first-1'))))
  for (const [name, path] of Object.entries(components)) {
    const script = `await import(${JSON.stringify(join(repository, 'src/cmd', path))}); console.log('is ready'); setInterval(() => {}, 1000)`
    report(`${name}, loaded by itself`, await best(() => started(['--input-type=module', '-e', script])))
  }
  rmSync(directory, { recursive: true, force: true })
}
