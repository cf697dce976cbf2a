/** `FUZZ_SECONDS` and `FUZZ_SEED` make it longer, or another one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from '../../support/running-cluster.ts'
import { fuzz, handlesAtRest, openHandles } from './fuzz-run.ts'

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261)
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 8)

test('whatever clients send: a Status with the right code, no crash, nothing left open', { timeout: (seconds + 120) * 1000 }, async () => {
  const flags = ['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false', '--runtime-config', 'api/all=true']
  await using cluster = await startCluster(flags)
  const before = openHandles(cluster)
  const { problems, requests, tornConnections, codes } = await fuzz(cluster, seed, seconds * 1000)
  assert.deepEqual(problems, [], `seed ${seed}`)
  assert.ok(requests > 100 && tornConnections > 20, `${requests} requests, ${tornConnections} torn connections`)
  for (const code of [200, 201, 400, 404, 422]) assert.ok((codes[code] ?? 0) > 0, `no ${code} among ${JSON.stringify(codes)}`)
  if (before !== undefined) assert.ok((await handlesAtRest(cluster, before)) <= before + 2, `seed ${seed}`)
  assert.equal(await cluster.stop('SIGTERM'), 0, cluster.output())
})
