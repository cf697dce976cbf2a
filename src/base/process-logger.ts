import type { Logger, LogLevel } from '#base/log.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { textLogger } from '#base/text-logger.ts'

export type LogFormat = 'auto' | 'text' | 'json'

/** Logs to standard error: lines for people on a terminal, JSON where a program reads it. */
export function processLogger({ level, format = 'auto' }: { level: LogLevel; format?: LogFormat }): Logger {
  const isTerminal = process.stderr.isTTY === true
  if (format === 'json' || (format === 'auto' && !isTerminal)) return pinoLogger({ level })
  // What stands in the line, such as the part that is just starting, makes room.
  const clearLine = isTerminal ? '\r\u001b[K' : ''
  return textLogger({ level, isColoured: isTerminal && wantsColour(), write: (line) => process.stderr.write(`${clearLine}${line}\n`) })
}

/** See no-color.org. */
export function wantsColour(environment: Record<string, string | undefined> = process.env): boolean {
  return !environment['NO_COLOR'] && environment['TERM'] !== 'dumb'
}
