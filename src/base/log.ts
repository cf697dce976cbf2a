/** Structured logging. A message is a fixed sentence; what varies goes into the fields. */
export type Logger = {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** A logger that adds these fields to everything it writes. */
  with(fields: LogFields): Logger
  /** Whether `debug` goes anywhere; ask before building expensive fields. */
  readonly isDebug: boolean
}

/** From the least to the most important. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'
export type LogFields = Record<string, unknown>
export type LogRecord = { level: LogLevel; message: string; fields: LogFields }

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLogger,
  isDebug: false,
}

/** Keeps what is logged, for tests. */
export function recordingLogger(records: LogRecord[], bound: LogFields = {}): Logger {
  const record =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      records.push({ level, message, fields: { ...bound, ...fields } })
    }
  return {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
    with: (fields) => recordingLogger(records, { ...bound, ...fields }),
    isDebug: true,
  }
}
