/** One process at a time runs containers in a directory. */
import type { Clock } from '#base/clock.ts'
import { descriptors } from '#base/descriptors.ts'
import type { Files } from '#base/files.ts'

/**
 * A lock outlives its holder by moments: a child that is just being started has a copy of the descriptor until it has become its program, and
 * whoever looks at the open files of all processes keeps one open while it looks.
 */
const patienceMs = 2000
const intervalMs = 20

/** Rejects where another process holds it and does not end, and names that process. */
export async function lockDirectory(
  directory: string,
  path: string,
  { files, clock }: { files: Files; clock: Clock },
): Promise<Disposable> {
  for (let waitedMs = 0; ; waitedMs += intervalMs) {
    const { isOurs, descriptor } = descriptors.lock(path)
    if (isOurs) return { [Symbol.dispose]: () => descriptors.close(descriptor) }
    if (waitedMs >= patienceMs) break
    await clock.sleep(intervalMs)
  }
  const [locks, file] = [await files.readText('/proc/locks'), await files.stat(path)]
  const holder = holderIn(locks, file?.inode)
  throw new Error(`another process${holder === undefined ? '' : ` (PID ${holder})`} runs containers in ${directory}: stop it first`)
}

/** Lines are `1: FLOCK  ADVISORY  WRITE 4711 fe:01:131 0 EOF`. */
function holderIn(locks: string, inode: number | undefined): string | undefined {
  const line = locks.split('\n').find((line) => line.includes(' FLOCK ') && line.includes(`:${inode} `))
  return line?.split(/\s+/)[4]
}
