export type CacheKind = {
  capacity: number
  longestSeconds: number
  shortestSeconds: number
  /** Zones of which nothing is kept. */
  except: string[]
}

export type CacheSettings = {
  success: CacheKind
  denial: CacheKind
  /** For how long SERVFAIL is remembered. */
  failureSeconds: number
  /** What was asked for so often, with no longer gap, is asked for again when so much of its time is left. */
  prefetch: { amount: number; gapMs: number; share: number } | undefined
  /** For how long answers are given that are no longer true; 0: they are not. */
  staleMs: number
  /** Gives them only where there is no newer one. */
  verifiesStale: boolean
  keepsTtl: boolean
}
