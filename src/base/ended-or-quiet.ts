import type { Readable } from 'node:stream'
import type { Clock } from '#base/clock.ts'

const stepMs = 20

/**
 * Resolves when all sources have ended, or when nothing has come from them for `quietMs`: somebody may hold a pipe open for ever.
 * Time is counted in short steps. Each leaves the event loop a turn to read, so that a busy machine, which may come to
 * look at pipes and timers late, does not take what waits to be read for silence. A source that is paused is not silent.
 * Somebody may also write for ever: `longestMs`.
 */
export async function endedOrQuiet(
  sources: readonly Readable[],
  { clock, quietMs, longestMs = Number.POSITIVE_INFINITY }: { clock: Clock; quietMs: number; longestMs?: number },
): Promise<void> {
  let hasCome = false
  const onData = () => {
    hasCome = true
  }
  const over = new AbortController()
  // Those who read are there already: to listen would set a source going that nobody reads yet.
  const heard = sources.filter((source) => source.listenerCount('data') > 0)
  for (const source of heard) source.on('data', onData)
  const ended = Promise.all(sources.map(endOf)).then(() => over.abort())
  let waitedFor = 0
  for (let quietFor = 0; quietFor < quietMs && waitedFor < longestMs && !over.signal.aborted; quietFor += stepMs) {
    waitedFor += stepMs
    hasCome = false
    await Promise.race([ended, clock.sleep(stepMs, over.signal).catch(() => {})])
    if (hasCome || sources.some((source) => source.isPaused() && !source.destroyed)) quietFor = -stepMs
  }
  for (const source of heard) source.off('data', onData)
}

function endOf(source: Readable): Promise<void> {
  if (source.readableEnded || source.destroyed) return Promise.resolve()
  return new Promise((resolve) => void source.once('end', resolve).once('close', resolve))
}
