import { pino } from 'pino'
import type { LogFields, Logger, LogLevel } from '#base/log.ts'

/** Lines of JSON on standard error, or into a file. */
export function pinoLogger(options: { level: LogLevel; file?: string }): Logger {
  const destination = pino.destination({ dest: options.file ?? 2, sync: true, mkdir: true })
  return loggerOver(
    pino(
      { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
      destination,
    ),
  )
}

type PinoLike = {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  child(fields: LogFields): PinoLike
  isLevelEnabled(level: string): boolean
}

/** A message begins with the component that it is of, where that is known. */
function loggerOver(inner: PinoLike, prefix = ''): Logger {
  return {
    debug: (message, fields = {}) => inner.debug(fields, prefix + message),
    info: (message, fields = {}) => inner.info(fields, prefix + message),
    warn: (message, fields = {}) => inner.warn(fields, prefix + message),
    error: (message, fields = {}) => inner.error(fields, prefix + message),
    with({ component, ...fields }) {
      return loggerOver(inner.child(fields), typeof component === 'string' ? `${component}: ` : prefix)
    },
    isDebug: inner.isLevelEnabled('debug'),
  }
}
