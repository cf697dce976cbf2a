/** The output of a container whose runtime keeps it to itself. */
import type { Clock } from '#base/clock.ts'
import type { LogOptions } from '#kubelet/logs/log-options.ts'
import { LogShaper } from '#kubelet/logs/log-shaper.ts'
import type { LogSubject } from '#kubelet/logs/log-subject.ts'
import type { LogLine } from '#kubelet/runtimes/runtime.ts'

/** Runtimes do not tell of each line. */
const lookAgainMs = 1000

export async function* logLinePieces(
  lines: () => readonly LogLine[],
  options: LogOptions,
  subject: LogSubject,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(0)
  const shaper = new LogShaper(options)
  const first = lines().length
  let next = options.tailLines === undefined ? 0 : Math.max(0, first - options.tailLines)
  for (;;) {
    const isOver = !options.follow || !(await subject.isRunning())
    const now = lines()
    const pieces: Uint8Array[] = []
    for (; next < now.length && !shaper.isDone; next++) {
      const { timeMs, stream, text } = now[next] as LogLine
      pieces.push(shaper.shaped({ time: new Date(timeMs).toISOString(), stream, content: Buffer.from(`${text}\n`) }))
    }
    const piece = Buffer.concat(pieces)
    if (piece.length > 0) yield piece
    if (isOver || shaper.isDone) return
    using waiting = new DisposableStack()
    const waited = new AbortController()
    waiting.use(subject.onChange(() => waited.abort()))
    const onAbort = () => waited.abort()
    subject.signal.addEventListener('abort', onAbort, { once: true })
    waiting.defer(() => subject.signal.removeEventListener('abort', onAbort))
    await clock.sleep(lookAgainMs, waited.signal).catch(() => {})
    if (subject.signal.aborted) return
  }
}
