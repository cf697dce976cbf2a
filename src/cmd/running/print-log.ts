import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { FollowedFiles } from '#base/followed-files.ts'
import { thisProcess } from '#base/machine.ts'
import { wantsColour } from '#base/process-logger.ts'
import { thisTerminal } from '#base/terminal.ts'
import { type LogFilter, logSelection } from '#cmd/running/log-selection.ts'
import { logPath } from '#cmd/running/running-cluster.ts'

export type PrintLogOptions = {
  dataDir: string
  follow: boolean
  component: readonly string[]
  level: string
  since: number
  /** -1: all. */
  tail: number
  output: string
}

const pieceBytes = 1 << 20

/** The log of a cluster that was started in the background. */
export async function printLog({ dataDir, follow, output, tail, ...asked }: PrintLogOptions): Promise<void> {
  const path = logPath(dataDir)
  if ((await nodeFiles.stat(path)) === undefined) {
    throw new Error(`there is no log in ${dataDir}; only clusters that were started with up -d have one`)
  }
  const isTerminal = thisTerminal.outputIsTerminal
  const isText = output === 'text' || (output === 'auto' && isTerminal)
  const filter: LogFilter = {
    components: asked.component,
    level: asked.level,
    fromMs: asked.since === 0 ? 0 : systemClock.now() - asked.since,
  }
  const select = logSelection(filter, isText ? { isColoured: isTerminal && wantsColour() } : undefined)
  // Whoever reads the output may have had enough of it.
  thisTerminal.onInterrupt(() => thisProcess.exit(0))
  await using log = await nodeFiles.open(path, 'r')
  const decoder = new TextDecoder()
  let position = 0
  let open = ''
  const newLines = async () => {
    const found: string[] = []
    // A log that had become too long has been emptied.
    if ((await log.sizeBytes()) < position) position = 0
    for (let size = await log.sizeBytes(); position < size; size = await log.sizeBytes()) {
      const bytes = await log.readAt(position, Math.min(size - position, pieceBytes))
      position += bytes.length
      const lines = (open + decoder.decode(bytes, { stream: true })).split('\n')
      open = lines.pop() ?? ''
      for (const line of lines) {
        const shown = select(line)
        if (shown !== undefined) found.push(shown)
      }
    }
    return found
  }
  const print = (lines: readonly string[]) => {
    if (lines.length > 0) thisTerminal.write(`${lines.join('\n')}\n`)
  }
  using changes = FollowedFiles.at(follow ? [path] : [], nodeFiles)
  const soFar = await newLines()
  print(tail < 0 ? soFar : tail === 0 ? [] : soFar.slice(-tail))
  if (!follow) return
  const failed = Promise.withResolvers<never>()
  changes.readAgain(async () => print(await newLines()), failed.reject)
  // A promise alone does not keep the process alive.
  await Promise.race([failed.promise, systemClock.sleep(Number.MAX_SAFE_INTEGER)])
}
