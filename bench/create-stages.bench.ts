/** What each stage of a create costs: a pod of 3 KB over TLS, embedded store, by a profile of the server under load. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '../scripts/bench.ts'
import { freePort } from '../test/support/free-port.ts'
import type { LoadRequest, LoadResult } from './support/load.ts'
import { runJson, startMeasured } from './support/measured-process.ts'
import { type Profile, stageShares } from './support/stage-shares.ts'
import { threeKilobytePod } from './support/three-kilobyte-pod.ts'

const token = 'bench'
const seconds = Number(process.env['BENCH_SECONDS'] ?? 5)
const path = '/api/v1/namespaces/default/pods'

export default async function run(bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tn-bench-'))
  try {
    const port = await freePort()
    const file = join(directory, 'profile.json')
    const alone = ['--runtime', 'none', '--controllers=', '--scheduler=false', '--token', token]
    const args = ['up', '--api-port', String(port), '--data-dir', join(directory, 'data'), ...alone]
    await using server = await startMeasured('bin/typernetes.js', args, {
      readyText: 'The cluster is ready',
      environment: { PROFILE_FILE: file },
    })
    const load = (name: string, request: Partial<LoadRequest>) =>
      runJson<LoadResult>('bench/support/load.ts', {
        ...{ url: `https://127.0.0.1:${port}`, token, connections: 4, concurrency: 8, method: 'POST', path, seconds },
        body: JSON.stringify(threeKilobytePod('default')).replace('pod-{n}', `${name}-{n}`),
        ...request,
      })
    // Nobody else makes the account that pods run as.
    const account = JSON.stringify({ metadata: { name: 'default' } })
    await load('', { path: path.replace('pods', 'serviceaccounts'), body: account, connections: 1, concurrency: 1, count: 1 })
    await load('before', { seconds: 2 * seconds })
    await server.count()
    const plain = await load('plain', {})
    const { cpuSeconds } = await server.report()
    if (plain.statuses['201'] !== plain.requests) throw new Error(`not all were created: ${JSON.stringify(plain.statuses)}`)
    await server.profile()
    await load('profiled', {})
    await server.endProfile()
    const each = (cpuSeconds / plain.requests) * 1e6
    bench.report({ case: 'create of a 3 KB pod: CPU of the server', figure: each, unit: 'µs each' })
    for (const [stage, share] of stageShares(JSON.parse(readFileSync(file, 'utf8')) as Profile))
      bench.report({ case: `  ${stage}`, figure: each * share, unit: 'µs', comparedWith: `${(100 * share).toFixed(0)} %` })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
