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

function loggerOver(inner: PinoLike, component?: unknown): Logger {
  // In front of what varies from line to line, and once: a component of a component takes its place.
  const under = component === undefined ? inner : inner.child({ component })
  return {
    debug: (message, fields = {}) => under.debug(fields, message),
    info: (message, fields = {}) => under.info(fields, message),
    warn: (message, fields = {}) => under.warn(fields, message),
    error: (message, fields = {}) => under.error(fields, message),
    with({ component: named = component, ...fields }) {
      return loggerOver(Object.keys(fields).length === 0 ? inner : inner.child(fields), named)
    },
    isDebug: inner.isLevelEnabled('debug'),
  }
}
