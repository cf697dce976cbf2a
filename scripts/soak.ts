/**
 * What happens to servers in the long run, over and over: `npm run soak`. Servers over the embedded store and over etcd are killed,
 * their disks filled, their files spoilt, their clocks set, while clients write, watch and flood; nothing acknowledged may be lost and no
 * watch may miss or repeat a change. Then a writer of the store alone is killed; for an hour everything around two API servers and three
 * etcd servers fails or is slow while the histories of clients are checked (linearizability, lists, watches, what etcd says has happened);
 * and malformed requests are sent. `--only histories` is that hour alone.
 *
 * `--kills 100 --disk-faults 20`: so many of each over both stores. `--seed 7`: from this seed. `--hours 2`: rounds until so much time
 * has passed. `--store-kills 100`, `--history-seconds 60`, `--fuzz-seconds 300`: of the last parts. `--backend etcd`: one of the stores.
 * `--minutes 25`: all of it ends by then with what was reached, and says how much that is. Servers over either store are soaked side by
 * side. In the end it prints what was done as a table for docs/endurance.md, and writes the same to `--summary FILE`.
 */
import { writeFileSync } from 'node:fs'

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { etcdMissing } from '../test/contracts/etcd-server.ts'
import { crashRun } from '../test/contracts/store-crash/crash-run.ts'
import { fuzz, handlesAtRest, openHandles } from '../test/e2e/fuzz/fuzz-run.ts'
import { HistoryRun } from '../test/soak/history-run.ts'
import { soak } from '../test/soak/soak-run.ts'
import { SoakSummary } from '../test/soak/soak-summary.ts'
import type { Backend } from '../test/soak/soaked-server.ts'
import { startCluster } from '../test/support/running-cluster.ts'

const { values: flags } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    'disk-faults': { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    hours: { type: 'string', default: '0' },
    minutes: { type: 'string', default: '' },
    backend: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    'store-kills': { type: 'string', default: '1000' },
    'fuzz-seconds': { type: 'string', default: '60' },
    'history-seconds': { type: 'string', default: '3600' },
    summary: { type: 'string', default: '' },
  },
})
// Servers are started by the thousand: what was compiled once need not be again.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '..', '.cache', 'compiled')
// Who ends a soak wants what it has started ended as well.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

if (flags.only === 'histories') for (const part of ['kills', 'disk-faults', 'store-kills', 'fuzz-seconds'] as const) flags[part] = '0'
else if (flags.only !== '') throw new Error(`--only ${flags.only}: only histories can be run alone`)

const seed = Number(flags.seed)
const [kills, diskFaults, storeKills, fuzzSeconds] = [flags.kills, flags['disk-faults'], flags['store-kills'], flags['fuzz-seconds']].map(
  Number,
) as [number, number, number, number]
/** Both take about as long: spoilt files are a matter of the embedded store, and etcd has two processes to start. */
const shares: Record<Backend, number> = { sqlite: 0.55, etcd: 0.45 }
const backends = (['sqlite', 'etcd'] as const).filter((each) => flags.backend === '' || flags.backend === each)
let hasFailed = false

const startedMs = performance.now()
const endMs = startedMs + Number(flags.hours) * 3_600_000
const minutes = Number(flags.minutes || 0)
const lastMs = flags.minutes === '' ? Number.POSITIVE_INFINITY : startedMs + minutes * 60_000
/** The rest is for the kills of a store alone, histories and malformed requests. */
const serversShare = 0.85
const summary = new SoakSummary()

async function soakServer(backend: Backend, round: number): Promise<void> {
  const share = backends.length === 1 ? 1 : shares[backend]
  const amounts = { kills: Math.round(kills * share), diskFaults: Math.round(diskFaults * share) }
  console.log(`${backend}: ${amounts.kills} kills, ${amounts.diskFaults} disk faults, seed ${seed + round}`)
  const outcome = await soak({
    ...{ backend, ...amounts, seed: seed + round, endMs: lastMs - (1 - serversShare) * minutes * 60_000 },
    onProgress: (tally) => console.log(`${backend}: ${JSON.stringify(tally)}`),
  })
  console.log(`${backend}: ${JSON.stringify(outcome)}`)
  summary.addServer(backend, outcome)
  if (outcome.problems.length > 0) hasFailed = true
  for (const problem of outcome.problems) console.error(`FAILED ${backend} seed ${seed + round}: ${problem}`)
}

const soaked = backends.filter((backend) => backend !== 'etcd' || etcdMissing === undefined)
if (soaked.length < backends.length) console.log(etcdMissing)
for (let round = 0; (round === 0 || performance.now() < endMs) && !hasFailed && kills + diskFaults > 0; round++) {
  await Promise.all(soaked.map((backend) => soakServer(backend, round)))
}

if (storeKills > 0 && !hasFailed) {
  console.log(`store: killing a writer ${storeKills} times, seed ${seed}`)
  const started = performance.now()
  const run = crashRun({
    kills: storeKills,
    seed,
    isOver: () => performance.now() > lastMs,
    onKill(kill, acknowledged) {
      summary.storeKills = { kills: kill, acknowledged }
      if (kill % 50 === 0 || kill === storeKills) {
        console.log(`${kill} kills, ${acknowledged} acknowledged writes, none lost, ${((performance.now() - started) / 1000).toFixed(0)} s`)
      }
    },
  })
  await run.catch((error) => {
    hasFailed = true
    console.error(`FAILED store seed ${seed}: ${error}`)
  })
}

const historySeconds = Number(flags['history-seconds'])
if (historySeconds > 0 && !hasFailed && etcdMissing === undefined) {
  // Three minutes at a time: what one of them finds can be tried again with its seed, and etcd still knows all that has happened.
  const historyEndMs = Math.min(performance.now() + historySeconds * 1000, lastMs - 0.05 * Number(flags.minutes || 0) * 60_000)
  for (let round = 0; performance.now() < historyEndMs && !hasFailed; round++) {
    const forMs = Math.min(180_000, historyEndMs - performance.now())
    await using run = await HistoryRun.start({ seed: seed + round, managersOfEach: 2, thinkMs: 10 })
    await run.strike(forMs)
    const { problems, ...tally } = await run.outcome()
    console.log(`histories: seed ${seed + round}, ${JSON.stringify(tally)}`)
    summary.addHistory(tally)
    for (const problem of problems) console.error(`FAILED histories seed ${seed + round}: ${problem}`)
    if (problems.length > 0) hasFailed = true
  }
}

if (fuzzSeconds > 0 && !hasFailed) {
  console.log(`apiserver: malformed requests for ${fuzzSeconds} s, seed ${seed}`)
  await using cluster = await startCluster(['--store', 'memory', '--runtime', 'none', '--runtime-config', 'api/all=true'])
  const before = openHandles(cluster)
  const { problems, requests, tornConnections, codes } = await fuzz(cluster, seed, fuzzSeconds * 1000)
  const left = before === undefined ? 0 : (await handlesAtRest(cluster, before)) - before
  console.log(`${requests} requests, ${tornConnections} torn connections, ${left} handles left open, codes ${JSON.stringify(codes)}`)
  for (const problem of problems) console.error(problem)
  summary.malformed = { requests, problems: problems.length + Number(left > 0) }
  if (problems.length > 0 || left > 0) hasFailed = true
}
const text = summary.text({ seed, minutes: (performance.now() - startedMs) / 60_000, hasFailed })
console.log(`\n${text}`)
if (flags.summary !== '') writeFileSync(flags.summary, text)
process.exit(hasFailed ? 1 : 0)
