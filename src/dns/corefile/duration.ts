import { lengthOfTimeMs } from '#base/duration.ts'

/** `30s`, `1m30s`, `500ms`; a number alone is in seconds. In milliseconds. */
export function parseDuration(text: string, line: number): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : lengthOfTimeMs(text)
  if (ms === undefined) throw new Error(`line ${line}: ${text || 'nothing'} is not a valid length of time such as 30s`)
  return ms
}
