import { type Clock, systemClock } from '#base/clock.ts'
import { type LogFields, type Logger, type LogLevel, logLevels } from '#base/log.ts'
import { logLine } from '#base/log-line.ts'

export type TextLoggerOptions = { level: LogLevel; isColoured: boolean; write(line: string): void; clock?: Clock }

/** Aligned lines for people. */
export function textLogger(options: TextLoggerOptions, bound: LogFields = {}): Logger {
  const { level: least, isColoured, write, clock = systemClock } = options
  const from = least === 'silent' ? logLevels.length : logLevels.indexOf(least)
  const { component: boundComponent, ...boundFields } = bound
  const component = typeof boundComponent === 'string' ? boundComponent : ''
  const log = (level: (typeof logLevels)[number]) => {
    if (logLevels.indexOf(level) < from) return () => {}
    return (message: string, fields: LogFields = {}) =>
      write(logLine({ timeMs: clock.now(), level, component, message, fields: { ...boundFields, ...fields } }, isColoured))
  }
  return {
    ...{ debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    with: (fields) => textLogger(options, { ...bound, ...fields }),
    isDebug: from === 0,
  }
}
