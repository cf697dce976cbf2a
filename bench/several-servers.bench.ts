/** Reads from one API server and from two on the same etcd, each with the same part of a core, so that the clients have the rest. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { etcdMissing, startEtcd } from '../test/contracts/etcd-server.ts'
import { layComponentKeys } from '../test/support/component-keys.ts'
import { freePort } from '../test/support/free-port.ts'
import { giveCores } from './support/core-share.ts'
import { type Figures, inTurn, reportPairs } from './support/in-turn.ts'
import type { LoadRequest, LoadResult } from './support/load.ts'
import { type MeasuredProcess, runJson, startMeasured } from './support/measured-process.ts'

const token = 'bench'
const warmUpSeconds = 5
/** Of one turn. */
const seconds = Number(process.env['BENCH_SECONDS'] ?? 3)
/** Of a core, for each server. */
const share = Number(process.env['BENCH_CORE_SHARE'] ?? 0.2)
const configMaps = '/api/v1/namespaces/default/configmaps'
const listed = 100
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5)

type Server = { process: MeasuredProcess; url: string; path: string }

export default async function run(bench: Bench): Promise<void> {
  if (etcdMissing !== undefined) return console.error(etcdMissing)
  await using started = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  started.defer(() => rmSync(directory, { recursive: true, force: true }))
  const keys = await layComponentKeys(directory)
  const tokens = join(directory, 'tokens.csv')
  writeFileSync(tokens, `${token},bench,bench,"system:masters"\n`)
  const { endpoint } = started.use(await startEtcd())
  const servers: Server[] = []
  for (let id = 0; id < 2; id++) {
    const port = await freePort()
    const where = ['--bind-address=127.0.0.1', `--secure-port=${port}`, `--etcd-servers=http://${endpoint}`]
    const args = ['apiserver', ...where, ...keys.apiserverFlags, `--token-auth-file=${tokens}`]
    const process = started.use(await startMeasured('bin/typernetes.js', args, { readyText: 'The API server is ready' }))
    servers.push({ process, url: `https://127.0.0.1:${port}`, path: configMaps })
  }
  const [first, second] = servers as [Server, Server]
  const body = JSON.stringify({ metadata: { name: 'map-{n}' }, data: { text: 'x'.repeat(1000) } })
  await load(first, { method: 'POST', body, connections: 1, concurrency: 1, count: listed })
  for (const server of servers) for (const path of [`${configMaps}/map-7`, configMaps]) await load(server, { path, seconds: warmUpSeconds })
  const given = servers.map(({ process }) => giveCores(process.child.pid ?? 0, share))
  for (const each of given) if (each !== undefined) started.use(each)
  const each = given.every((one) => one !== undefined) ? `with ${share} of a core each` : 'with what cores there are'
  for (const [what, path] of [
    ['GET', `${configMaps}/map-7`],
    [`list of ${listed}`, configMaps],
  ] as const) {
    // What else the machine does comes and goes: one and two in turn, each pair compared by itself, and of all pairs the median.
    const pairs = await inTurn(rounds, {
      one: (round) => measured([round % 2 === 0 ? first : second], path),
      two: () => measured([first, second], path),
    })
    reportPairs(bench, pairs, { case: `${what} from two servers on etcd`, each, by: 'one' })
  }
}

async function measured(servers: readonly Server[], path: string): Promise<Figures> {
  await Promise.all(servers.map(({ process }) => process.count()))
  const loads = await Promise.all(servers.map((server) => load(server, { path })))
  const reports = await Promise.all(servers.map(({ process }) => process.report()))
  const requests = loads.reduce((sum, { requests: of }) => sum + of, 0)
  const cpuSeconds = reports.reduce((sum, { cpuSeconds: of }) => sum + of, 0)
  return { perSecond: loads.reduce((sum, { requests: of, seconds: took }) => sum + of / took, 0), cpuMicros: (cpuSeconds / requests) * 1e6 }
}

function load({ url, path }: Server, request: Partial<LoadRequest>): Promise<LoadResult> {
  const usual = { url, token, connections: 8, concurrency: 8, method: 'GET', path, seconds }
  return runJson<LoadResult>('bench/support/load.ts', { ...usual, ...request })
}
