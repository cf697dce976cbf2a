/**
 * Writes to the store of the directory it is given until it is killed, and says `writer step revision` on its output for each
 * write that was acknowledged. Each write changes a pair of keys together.
 */
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'

const [dataDir = '', seed = '1', writers = '16'] = process.argv.slice(2)
const random = seededRandom(Number(seed))
// Little history, so that compaction and reuse of pages are killed too.
const store = await openSqliteStore({ dataDir, clock: systemClock, logger: silentLogger, processId: process.pid, historyBytes: 200_000 })

async function write(writer: number): Promise<never> {
  const { kvs } = await store.range({ key: `/pair/${writer}/a` })
  let step = Number.parseInt(Buffer.from(kvs[0]?.value ?? Buffer.of(48)).toString(), 10)
  for (;;) {
    step++
    const value = Buffer.from(`${step}:${'x'.repeat(random.int(3000))}`)
    const pair = ['a', 'b'].map((half) => ({ put: { key: `/pair/${writer}/${half}`, value } }))
    const trace = { put: { key: `/trace/${writer}/${step}`, value } }
    const { revision } = await store.txn({ success: [...pair, trace, { delete: { key: `/trace/${writer}/${step - 20}` } }] })
    process.stdout.write(`${writer} ${step} ${revision}\n`)
  }
}

await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => write(writer)))
