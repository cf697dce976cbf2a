/**
 * Long runs of tests that the normal test command runs short. `npm run soak -- 100` kills 100 times instead of 1,000;
 * `npm run soak -- 100 7 300` does it from the seed 7, and sends malformed requests for 300 seconds instead of 60.
 */
import { crashRun } from '../test/contracts/store-crash/crash-run.ts'
import { fuzz, handlesAtRest, openHandles } from '../test/e2e/fuzz/fuzz-run.ts'
import { startCluster } from '../test/support/running-cluster.ts'

const kills = Number(process.argv[2] ?? 1000)
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000)
const fuzzSeconds = Number(process.argv[4] ?? 60)
console.log(`store: killing a writer ${kills} times, seed ${seed}`)
const started = performance.now()
await crashRun({
  kills,
  seed,
  onKill(kill, acknowledged) {
    if (kill % 50 === 0 || kill === kills) {
      console.log(`${kill} kills, ${acknowledged} acknowledged writes, none lost, ${((performance.now() - started) / 1000).toFixed(0)} s`)
    }
  },
})

console.log(`apiserver: malformed requests for ${fuzzSeconds} s, seed ${seed}`)
await using cluster = await startCluster(['--store', 'memory', '--runtime', 'none', '--runtime-config', 'api/all=true'])
const before = openHandles(cluster)
const { problems, requests, tornConnections, codes } = await fuzz(cluster, seed, fuzzSeconds * 1000)
const left = before === undefined ? 0 : (await handlesAtRest(cluster, before)) - before
console.log(`${requests} requests, ${tornConnections} torn connections, ${left} handles left open, codes ${JSON.stringify(codes)}`)
for (const problem of problems) console.error(problem)
if (problems.length > 0 || left > 0) process.exitCode = 1
