/** `FUZZ_SECONDS` and `FUZZ_SEED` make it longer, or another one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from '../../support/running-cluster.ts'
import { type FuzzOutcome, fuzz, handlesAtRest, openHandles } from './fuzz-run.ts'

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261)
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 8)

const isEnough = ({ requests, tornConnections, codes }: Omit<FuzzOutcome, 'problems'>) =>
  requests > 100 && tornConnections > 20 && [200, 201, 400, 404, 422].every((code) => (codes[code] ?? 0) > 0)

test('whatever clients send: a Status with the right code, no crash, nothing left open', { timeout: (seconds + 230) * 1000 }, async () => {
  const flags = ['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false', '--runtime-config', 'api/all=true']
  await using cluster = await startCluster(flags)
  const before = openHandles(cluster)
  const { problems, ...seen } = await fuzz(cluster, seed, seconds * 1000, isEnough)
  assert.deepEqual(problems, [], `seed ${seed}`)
  assert.ok(isEnough(seen), JSON.stringify(seen))
  if (before !== undefined) assert.ok((await handlesAtRest(cluster, before)) <= before + 2, `seed ${seed}`)
  assert.equal(await cluster.stop('SIGTERM'), 0, cluster.output())
})
