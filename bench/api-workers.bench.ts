/** The API served by one thread and by two, each with the same part of a core, so that the clients have the rest: reads, creates, memory. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { freePort } from '../test/support/free-port.ts'
import { giveCores } from './support/core-share.ts'
import { type Figures, inTurn, reportPairs } from './support/in-turn.ts'
import type { LoadRequest, LoadResult } from './support/load.ts'
import { runJson, startMeasured } from './support/measured-process.ts'

const token = 'bench'
/** Of one turn. */
const seconds = Number(process.env['BENCH_SECONDS'] ?? 3)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5)
const warmUpSeconds = 3
/** Of a core, for each thread. */
const share = Number(process.env['BENCH_CORE_SHARE'] ?? 0.2)
const namespace = '/api/v1/namespaces/default'
const configMaps = `${namespace}/configmaps`
const environment = { NODE_COMPILE_CACHE: join(import.meta.dirname, '..', '.cache', 'compiled') }
const create = {
  ...{ method: 'POST', path: configMaps },
  body: JSON.stringify({ metadata: { generateName: 'c-' }, data: { text: 'x'.repeat(1000) } }),
}

type Server = AsyncDisposable & { measured(request: Partial<LoadRequest>): Promise<Figures>; residentMegabytes(): Promise<number> }

export default async function run(bench: Bench): Promise<void> {
  await using one = await startServer(1)
  await using two = await startServer(2)
  const each = `with ${share} of a core for each thread`
  for (const [what, request] of [
    ['GET', {}],
    ['create', create],
  ] as const) {
    const pairs = await inTurn(rounds, { one: () => one.measured(request), two: () => two.measured(request) })
    reportPairs(bench, pairs, { case: `${what} by two threads`, each, by: 'one thread' })
  }
  const [ofOne, ofTwo] = [await one.residentMegabytes(), await two.residentMegabytes()]
  bench.report({
    ...{ case: 'memory of two threads', figure: ofTwo, unit: 'MB' },
    ...{ comparedWith: `${Math.round(ofOne)} with one thread`, ratio: ofTwo / ofOne },
  })
}

/** Both run all the time, so that they can be asked in turn; one that is not asked needs next to nothing. */
async function startServer(threads: number): Promise<Server> {
  await using started = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  started.defer(() => rmSync(directory, { recursive: true, force: true }))
  const port = await freePort()
  const flags = ['--token', token, '--runtime', 'none', '--controllers=', '--scheduler=false', '--api-workers', String(threads)]
  const args = ['up', '--api-port', String(port), '--data-dir', join(directory, 'data'), ...flags]
  const server = started.use(await startMeasured('bin/typernetes.js', args, { readyText: 'The cluster is ready', environment }))
  const load = (request: Partial<LoadRequest>) =>
    runJson<LoadResult>('bench/support/load.ts', {
      ...{ url: `https://127.0.0.1:${port}`, token, connections: 8, concurrency: 4 },
      ...{ method: 'GET', path: namespace, seconds, ...request },
    })
  /** By two processes, since one of them is busier than a thread of the server. */
  const measured = async (request: Partial<LoadRequest>): Promise<Figures> => {
    await server.count()
    const loads = await Promise.all([load(request), load(request)])
    const { cpuSeconds } = await server.report()
    const requests = loads.reduce((sum, { requests: of }) => sum + of, 0)
    return {
      perSecond: loads.reduce((sum, { requests: of, seconds: took }) => sum + of / took, 0),
      cpuMicros: (cpuSeconds / requests) * 1e6,
    }
  }
  // As it is for a server that has run for a while.
  await measured({ ...create, seconds: warmUpSeconds })
  await measured({ seconds: warmUpSeconds })
  const given = giveCores(server.child.pid ?? 0, share * threads)
  if (given !== undefined) started.use(given)
  const running = started.move()
  return {
    measured,
    residentMegabytes: async () => (await server.collect()).residentMb,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
