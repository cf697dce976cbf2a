/** Long runs of tests that the normal test command runs short. `npm run soak -- 100` does 100 rounds instead of 1,000. */
import { crashRun } from '../test/contracts/store-crash/crash-run.ts'

const kills = Number(process.argv[2] ?? 1000)
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000)
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
