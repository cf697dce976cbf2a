import type { Logger, LogLevel } from '#base/log.ts'
import { type LogFormat, processLogger } from '#base/process-logger.ts'

/** The logger of a process that was told so much by `logOptions`. */
export function loggerOf({ logLevel, logFormat }: { logLevel: string; logFormat: string }): Logger {
  return processLogger({ level: logLevel as LogLevel, format: logFormat as LogFormat })
}
