/** How far a container's log has been written by the agent before. */
import { basename, dirname, join } from 'node:path'
import type { Files } from '#base/files.ts'

/** `count` lines with the last time of all are there: the pieces of a long line share theirs. */
export type LogPosition = { time: string; count: number }

const tailBytes = 256 << 10

/** Undefined where nothing is written yet. A log that has just been put aside goes on where that one ends. */
export async function lastPosition(logFile: string, files: Pick<Files, 'list' | 'open' | 'stat'>): Promise<LogPosition | undefined> {
  const [directory, name] = [dirname(logFile), basename(logFile)]
  const aside = (await files.list(directory)).filter(
    (each) => each.startsWith(`${name}.`) && !each.endsWith('.gz') && !each.endsWith('.tmp'),
  )
  for (const each of [name, ...aside.toReversed()]) {
    const found = positionIn(await tailOf(join(directory, each), files))
    if (found !== undefined) return found
  }
  return undefined
}

async function tailOf(path: string, files: Pick<Files, 'open' | 'stat'>): Promise<string> {
  const size = (await files.stat(path))?.sizeBytes ?? 0
  if (size === 0) return ''
  await using file = await files.open(path, 'r')
  return Buffer.from(await file.readAt(Math.max(0, size - tailBytes), tailBytes)).toString('latin1')
}

export function positionIn(tail: string): LogPosition | undefined {
  const times = tail.split('\n').flatMap((line) => /^(\d{4}-\d\d-\d\dT\S+Z) (?:stdout|stderr) [FP] /.exec(line)?.[1] ?? [])
  const time = times.at(-1)
  return time === undefined ? undefined : { time, count: times.filter((each) => each === time).length }
}
