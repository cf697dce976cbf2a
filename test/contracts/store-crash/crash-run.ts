import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { nodeSqlite } from '#base/sqlite.ts'
import { inlineChannel } from '#store/sqlite/file-client.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'

const writers = 16

/** What was acknowledged: for each writer the last step and its revision. */
type Acknowledged = { steps: Map<number, number>; newestRevision: number; count: number }

/**
 * Kills a writing process again and again, at moments that the seed chooses, and checks after each kill that everything
 * acknowledged is there, nothing is there by half, and revisions rise.
 */
export async function crashRun(options: {
  kills: number
  seed: number
  /** Ends before all of them are done. */
  isOver?: () => boolean
  onKill?: (kill: number, acknowledged: number) => void
}): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-crash-'))
  const random = seededRandom(options.seed)
  const acknowledged: Acknowledged = { steps: new Map(), newestRevision: 0, count: 0 }
  try {
    for (let kill = 1; kill <= options.kills && !options.isOver?.(); kill++) {
      await writeUntilKilled(directory, random, acknowledged)
      await check(directory, acknowledged).catch((error) => {
        throw new Error(`after kill ${kill} of seed ${options.seed}: ${error.message}`, { cause: error })
      })
      options.onKill?.(kill, acknowledged.count)
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function writeUntilKilled(directory: string, random: Random, acknowledged: Acknowledged): Promise<void> {
  const writer = join(import.meta.dirname, 'writer.ts')
  const child = spawn(process.execPath, [writer, directory, String(random.int(2 ** 31)), String(writers)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // The first acknowledgement, or one of the first thousand: while the process starts, in the middle of a batch, in a checkpoint.
  let untilKill = random.int(8) === 0 ? 1 : 1 + random.int(1000)
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const [writerId = 0, step = 0, revision = 0] = line.split(' ').map(Number)
    acknowledged.steps.set(writerId, step)
    acknowledged.newestRevision = Math.max(acknowledged.newestRevision, revision)
    acknowledged.count++
    if (--untilKill === 0) child.kill('SIGKILL')
  })
  const [, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on('close', (code, by) => resolve([code, by]))
  })
  assert.equal(signal, 'SIGKILL', 'the writer ended by itself')
}

async function check(dataDir: string, { steps, newestRevision }: Acknowledged): Promise<void> {
  const startFile = () => inlineChannel(nodeSqlite, nodeFiles)
  await using store = await openSqliteStore({ dataDir, clock: systemClock, logger: silentLogger, processId: process.pid, startFile })
  assert.ok(store.revision >= newestRevision, `revision ${newestRevision} was acknowledged, the store is at ${store.revision}`)
  const at = async (key: string) => (await store.range({ key })).kvs[0]
  for (const [writer, step] of steps) {
    const [a, b] = [await at(`/pair/${writer}/a`), await at(`/pair/${writer}/b`)]
    const found = Number.parseInt(Buffer.from(a?.value ?? Buffer.of(48)).toString(), 10)
    assert.ok(found >= step, `step ${step} of writer ${writer} was acknowledged, ${found} is there`)
    assert.equal(a?.modRevision, b?.modRevision, 'a transaction is there by half')
    assert.equal(Buffer.compare(a?.value ?? Buffer.of(), b?.value ?? Buffer.of()), 0, 'a transaction is there by half')
    const traces = (await store.range({ prefix: `/trace/${writer}/`, keysOnly: true })).kvs
      .map(({ key }) => Number(key.split('/')[3]))
      .sort((x, y) => x - y)
    const expected = Array.from({ length: Math.min(found, 20) }, (_, index) => found - Math.min(found, 20) + 1 + index)
    assert.deepEqual(traces, expected, `the traces of writer ${writer}`)
  }
}
