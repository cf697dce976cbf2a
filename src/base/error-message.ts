/** What went wrong, in words, whatever was thrown. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** For the log: with where it was thrown, where that is known. */
export const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))
