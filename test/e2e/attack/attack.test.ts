/** A sample of the requests that `npm run attack` sends in full. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningCluster, startCluster } from '../../support/running-cluster.ts'
import { attackAll, send } from './attack-run.ts'

/** An answer quotes what is wrong; it may be larger than the request, but not without end. */
const answerLimitBytes = 2 << 20
const sampleEvery = 20

let cluster: RunningCluster
before(async () => {
  cluster = await startCluster(['--store', 'memory', '--runtime-config', 'api/all=true'])
})
after(() => cluster?.[Symbol.asyncDispose]())

test('lists and maps of thousands of entries are answered, and the server lives', { timeout: 200_000 }, async () => {
  let sent = 0
  for await (const cost of attackAll(cluster, [3000], (index) => index % sampleEvery === 0)) {
    const what = `${cost.field.kind} ${cost.field.path.join('.')} ${cost.variant}`
    assert.ok(cost.status < 500, `${what}: ${cost.status}`)
    assert.ok(cost.answeredBytes < answerLimitBytes, `${what}: ${cost.answeredBytes} bytes`)
    sent++
  }
  assert.ok(sent > 100, `${sent} requests`)
  assert.equal((await send(cluster, 'GET', '/livez')).text, 'ok')
})
