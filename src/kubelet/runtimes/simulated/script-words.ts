/** The words annotations are made of. */
import { lengthOfTimeMs } from '#base/duration.ts'

export const scriptDomain = 'sim.typernetes.dev'

export function durationMs(what: string, text: string): number {
  const ms = lengthOfTimeMs(text)
  if (ms === undefined)
    throw new Error(`annotation ${scriptDomain}/${what}: ${text} is not a valid length of time such as 500ms, 30s or 1m30s`)
  return ms
}
