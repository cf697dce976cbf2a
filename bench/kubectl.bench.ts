/** kubectl beside the real one: help, a list of a few pods, a list of ten thousand. `node scripts/bench.ts kubectl` */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { nodeHttpClient } from '../src/base/http-client.ts'
import { installedKubectls } from '../test/support/kubectl.ts'
import { type RunningCluster, startCluster } from '../test/support/running-cluster.ts'

const repository = join(import.meta.dirname, '..')

/** Wall time in the middle of five runs after the first, which fills caches; and the most memory. */
function measured(program: string, args: readonly string[], env: NodeJS.ProcessEnv): { ms: number; megabytes: number } {
  const runs: number[] = []
  let megabytes = 0
  for (let run = 0; run < 6; run++) {
    const started = performance.now()
    const { status, stderr } = spawnSync('time', ['-f', 'rss=%M', program, ...args], { env, encoding: 'utf8', maxBuffer: 256 << 20 })
    runs.push(performance.now() - started)
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr}`)
    megabytes = Math.max(megabytes, Number(/rss=(\d+)/.exec(stderr)?.[1] ?? 0) / 1024)
  }
  return { ms: runs.slice(1).sort((one, other) => one - other)[2] ?? 0, megabytes }
}

async function createPods(cluster: RunningCluster, from: number, to: number): Promise<void> {
  const http = nodeHttpClient({ insecureSkipVerify: true })
  const headers = { authorization: `Bearer ${cluster.token}`, 'content-type': 'application/json' }
  const create = async (index: number) => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `pod-${index}` },
      spec: { containers: [{ name: 'main', image: 'nginx' }] },
    }
    await (
      await http.request({ url: `${cluster.url}/api/v1/namespaces/default/pods`, method: 'POST', headers, body: JSON.stringify(pod) })
    ).text()
  }
  for (let at = from; at < to; at += 50) await Promise.all(Array.from({ length: Math.min(50, to - at) }, (_, index) => create(at + index)))
  http[Symbol.dispose]()
}

export default async function kubectlBench({ report }: Bench): Promise<void> {
  await using cluster = await startCluster(['--controllers=serviceaccount', '--scheduler=false'])
  const home = mkdtempSync(join(tmpdir(), 'kubectl-bench-'))
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: home, NODE_COMPILE_CACHE: join(home, 'compiled') }
  const real = process.env['TYPERNETES_KUBECTL'] ?? installedKubectls().at(-1)?.path
  const compare = (what: string, args: readonly string[]) => {
    const ours = measured(process.execPath, [join(repository, 'bin/kubectl.js'), ...args], env)
    const theirs = real === undefined ? undefined : measured(real, args, env)
    const beside = (figure: number, own: number, unit: string) => ({
      comparedWith: `kubectl ${figure.toFixed(0)} ${unit}`,
      ratio: own / figure,
    })
    report({ case: `kubectl: ${what}`, figure: ours.ms, unit: 'ms', ...(theirs === undefined ? {} : beside(theirs.ms, ours.ms, 'ms')) })
    report({
      case: `kubectl: ${what}, memory`,
      figure: ours.megabytes,
      unit: 'MB',
      ...(theirs === undefined ? {} : beside(theirs.megabytes, ours.megabytes, 'MB')),
    })
  }
  compare('help', ['--help'])
  await createPods(cluster, 0, 10)
  compare('get pods of 10', ['get', 'pods'])
  await createPods(cluster, 10, 10_000)
  compare('get pods of 10,000', ['get', 'pods'])
  await followLogs(report, env, real)
}

const [followedPods, linesEach, linesASecond] = [50, 2000, 10_000]

/** A server of nothing but the logs of 50 pods, 10,000 lines a second in all. */
async function followLogs(report: Bench['report'], env: NodeJS.ProcessEnv, real: string | undefined): Promise<void> {
  const names = Array.from({ length: followedPods }, (_, index) => `pod-${index}`)
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://server')
    const json = (body: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    const pod = (name: string) => ({ metadata: { name, namespace: 'default' }, spec: { containers: [{ name: 'main', image: 'x' }] } })
    if (pathname.endsWith('/log')) return void talk(response)
    if (pathname.endsWith('/pods')) return void json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: names.map(pod) })
    if (pathname === '/api') return void json({ kind: 'APIVersions', versions: ['v1'] })
    if (pathname === '/apis') return void json({ kind: 'APIGroupList', groups: [] })
    const pods = { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: ['get', 'list'], shortNames: ['po'] }
    json({ kind: 'APIResourceList', groupVersion: 'v1', resources: [pods] })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const args = [
    '-s',
    `http://127.0.0.1:${port}`,
    'logs',
    '-f',
    '-l',
    'app=x',
    '--tail=-1',
    `--max-log-requests=${followedPods}`,
    '--prefix',
  ]
  const programs = {
    ours: [process.execPath, join(repository, 'bin/kubectl.js')],
    ...(real === undefined ? {} : { 'the real kubectl': [real] }),
  }
  for (const [whose, [program = '', ...first]] of Object.entries(programs)) {
    const lines = await countedLines(program, [...first, ...args], { ...env, KUBECONFIG: '/dev/null' })
    const lost = followedPods * linesEach - lines
    report({
      case: `kubectl: logs -f of ${followedPods} pods at ${linesASecond} lines/s, lines lost by ${whose}`,
      figure: lost,
      unit: 'lines',
    })
  }
  server.close()
}

/** A tenth of a second's lines at a time. */
function talk(response: ServerResponse): void {
  let sent = 0
  const timer = setInterval(() => {
    const count = linesASecond / followedPods / 10
    response.write(
      Array.from({ length: count }, (_, index) => `line ${sent + index} of a log that is as long as logs are, more or less\n`).join(''),
    )
    sent += count
    if (sent < linesEach) return
    clearInterval(timer)
    response.end()
  }, 100)
}

function countedLines(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let lines = 0
    child.stdout.on('data', (piece: Buffer) => {
      for (const byte of piece) if (byte === 10) lines++
    })
    child.on('close', () => resolve(lines))
  })
}
