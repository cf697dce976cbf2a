import { logLevels } from '#base/log.ts'
import { logLine, parseLogLine } from '#base/log-line.ts'

export type LogFilter = {
  /** With or without `kube-` in front; empty: all. */
  components: readonly string[]
  level: string
  fromMs: number
}

/**
 * Gives each line of a log as it is to be shown, or undefined where it is not wanted. Lines that are no records (what `up` tells its user,
 * the trace of a crash) belong to the record before them.
 */
export function logSelection(
  { components, level, fromMs }: LogFilter,
  text: { isColoured: boolean } | undefined,
): (line: string) => string | undefined {
  const wanted = new Set(components.map(plainName))
  const least = levelOrder(level)
  let isShown = wanted.size === 0 && fromMs === 0
  return (line) => {
    const record = parseLogLine(line)
    if (record === undefined) return isShown ? line : undefined
    isShown = record.timeMs >= fromMs && levelOrder(record.level) >= least && (wanted.size === 0 || wanted.has(plainName(record.component)))
    if (!isShown) return undefined
    return text === undefined ? line : logLine(record, text.isColoured)
  }
}

const plainName = (component: string): string => component.replace(/^kube-/, '')

const levelOrder = (level: string): number => (logLevels as readonly string[]).indexOf(level)
