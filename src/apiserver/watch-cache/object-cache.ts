import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import type { Change } from '#apiserver/watch-cache/change-window.ts'
import type { WatchCache } from '#apiserver/watch-cache/watch-cache.ts'

/** What is read of a cache: the objects of a resource as one of its versions shows them. */
export type ObjectCache = Pick<
  WatchCache,
  | 'revision'
  | 'size'
  | 'watchers'
  | 'get'
  | 'list'
  | 'count'
  | 'isFresh'
  | 'fresh'
  | 'filled'
  | 'reached'
  | 'watch'
  | 'follow'
  | 'changesAfter'
> & {
  /** An object that was read from the store itself, as this cache shows it. */
  shown(stored: CachedObject): CachedObject
  /** Asks elsewhere for what these objects need before they can be looked into; undefined where they need nothing. */
  prepare(objects: readonly CachedObject[]): Promise<void> | undefined
  /** Of everything in a namespace, or in all for the empty string. */
  prepareAll(namespace: string): Promise<void> | undefined
  /** Whether `prepare` would have to ask for any of these. */
  needsPreparing(changes: readonly Change[]): boolean
}
