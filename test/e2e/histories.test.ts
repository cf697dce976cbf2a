/** What clients of two API servers are told while servers, etcd and the links between them fail could have come from one store. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { etcdMissing } from '../contracts/etcd-server.ts'
import { HistoryRun } from '../soak/history-run.ts'

/** Longer runs are mostly waiting, and meant to run beside other tests: three minutes take about a minute of one core. */
const seconds = Number(process.env['HISTORY_SECONDS'] ?? 15)
const pace = seconds > 60 ? { thinkMs: 150, calmMs: 2500 } : { thinkMs: 20, calmMs: 200 }
/** In pieces, so that something is heard of it. */
const pieceSeconds = 60

describe('histories of clients, whatever fails', { skip: etcdMissing ?? false, timeout: seconds * 1000 + 600_000 }, () => {
  const started = new AsyncDisposableStack()
  let run: HistoryRun

  before(async () => {
    run = started.use(await HistoryRun.start({ seed: 1, ...pace }))
  })
  after(() => started.disposeAsync())

  for (let from = 0; from < seconds; from += pieceSeconds) {
    const until = Math.min(seconds, from + pieceSeconds)
    test(`servers, etcd, controllers and links fail from second ${from} to ${until}`, () => run.strike((until - from) * 1000))
  }

  test('are linearizable, watches are complete, and all of it is what etcd says has happened', async (t) => {
    const { problems, ...tally } = await run.outcome()
    t.diagnostic(JSON.stringify(tally))
    assert.deepEqual(problems, [])
    assert.ok(tally.operations > 0 && tally.watchEvents > 0 && tally.watchesResumed > 0)
  })
})
