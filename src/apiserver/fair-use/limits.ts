/** What one client may ask of the server: every limit that can be set, in one place. 0 means that there is none. */
import type { EntryLimits } from '#apiserver/http/entry-limits.ts'

export type FairUseLimits = {
  /** Of a request's body. */
  bodyBytes: number
  /** The same for some resources, by `plural` or `plural.group`. */
  bodyBytesOf: Readonly<Record<string, number>>
  entries: EntryLimits
  /** Of one resource in one namespace. */
  objectsPerNamespace: number
  /** That are open at once, by the name of the user. */
  watchesPerClient: number
  /** That are open at once, by address. */
  connectionsPerClient: number
  /** Of a list that is asked for without pages. */
  listItems: number
  /** Processor time that a client has used lately makes its requests take more seats. */
  measuresCost: boolean
}

export const defaultLimits: FairUseLimits = {
  bodyBytes: 3 * 1024 * 1024,
  bodyBytesOf: {},
  entries: { inOne: 30_000, inAll: 100_000 },
  objectsPerNamespace: 0,
  watchesPerClient: 10_000,
  connectionsPerClient: 10_000,
  listItems: 0,
  measuresCost: true,
}
