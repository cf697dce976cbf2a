/** Which objects a list answers with: all of them from memory, or one page of a snapshot. */

import { quoted } from '#api/meta/check.ts'
import { badRequest, expired } from '#api/meta/status-error.ts'
import { type Continuation, continueToken, parseContinueToken } from '#apiserver/http/continue-token.ts'
import type { ListOptions } from '#apiserver/http/query-options.ts'
import { expiredContinue, resourceVersionTooLarge } from '#apiserver/http/refusals.ts'
import { type Selection, stepCost } from '#apiserver/http/selection.ts'
import type { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import { storagePrefix } from '#apiserver/registry/storage-key.ts'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { readableValue } from '#apiserver/watch-cache/readable-feed.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { inSteps, type Steps } from '#base/steps.ts'
import { CompactedError, FutureRevisionError, type KeyValue, type Store } from '#store/store.ts'

export type ListPage = { items: CachedObject[]; resourceVersion: string; continueToken: string; remainingItemCount: number | undefined }

export type ListSource = {
  registry: ResourceRegistry
  store: Store
  /** Lets others in where the turn has taken long enough. */
  giveWay(): Promise<void> | undefined
}

/** At most so many are read at once, as upstream has it. */
const mostPageObjects = 10_000
const objectsBetweenLooks = 64

/** Resolves when it is over; `signal` says that nobody waits any longer. */
export type Patience = (signal: AbortSignal) => Promise<void>

/** How many seconds a list waits for a revision this server has not seen yet. */
const patienceSeconds = 3

export async function listPage(source: ListSource, selection: Selection, options: ListOptions, patience: Patience): Promise<ListPage> {
  if (options.continueToken !== '') return nextPage(source, selection, options, parseContinueToken(options.continueToken))
  const asked = parseResourceVersion(options.resourceVersion)
  if (options.resourceVersionMatch === 'Exact') return snapshotPage(source, selection, options.limit, { revision: asked, startKey: '' })
  const { cache } = source.registry
  if (asked === 0 && options.resourceVersion === '') {
    const revision = await cache.fresh()
    await cache.prepareAll(selection.namespace)
    return pageOf(source, selection, cache.list(selection.namespace), revision, options.limit)
  }
  if (asked > 0) await waitForRevision(source, asked, patience)
  // Whoever accepts old data gets everything at once, from memory, whatever the limit: upstream's cache does the same.
  const limit = options.resourceVersion === '0' ? 0 : options.limit
  await cache.prepareAll(selection.namespace)
  return pageOf(source, selection, cache.list(selection.namespace), shownRevision(cache), limit)
}

/** What the cache holds is as new as this: a store elsewhere may know of newer writes whose changes have not come yet. */
function shownRevision(cache: ListSource['registry']['cache']): number {
  // Where all of it is here, this also takes note of writes to other resources.
  void cache.isFresh
  return cache.revision
}

/** Throws when the revision does not come in time. */
export async function waitForRevision({ registry }: Pick<ListSource, 'registry'>, revision: number, patience: Patience): Promise<void> {
  if (shownRevision(registry.cache) >= revision) return
  // Many may ask for what never comes: nothing is kept of them once they were told so.
  const over = new AbortController()
  const reached = registry.cache.reached(revision, over.signal).then(() => true)
  const isReached = await Promise.race([reached, patience(over.signal).then(() => false)]).finally(() => over.abort())
  if (!isReached) throw resourceVersionTooLarge(revision, registry.cache.revision)
}

export const listPatienceMs = patienceSeconds * 1000

export function parseResourceVersion(text: string): number {
  if (text === '') return 0
  if (!/^\d+$/.test(text)) throw badRequest(`invalid resource version: ${resourceVersionError(text)}`)
  return Number(text)
}

export function resourceVersionError(text: string): string {
  return `resourceVersion: Invalid value: ${quoted(text)}: strconv.ParseUint: parsing ${quoted(text)}: invalid syntax`
}

async function pageOf(
  source: ListSource,
  selection: Selection,
  objects: CachedObject[],
  revision: number,
  limit: number,
): Promise<ListPage> {
  const whole = { resourceVersion: String(revision), continueToken: '', remainingItemCount: undefined }
  const most = limit <= 0 || objects.length <= limit ? Number.POSITIVE_INFINITY : limit
  if (selection.isAll && most > limit) return { items: objects, ...whole }
  const items: CachedObject[] = []
  const seen = await inSteps(choosing(selection, objects, items, most), source.giveWay)
  return seen === objects.length ? { items, ...whole } : pageEndingBefore(source, selection, items, revision, objects.length - seen)
}

/**
 * Adds what is selected to `items` until there are `most`, and tells where the rest begins: with the next that is selected, or, where
 * that would have to be looked for in the store, with the next of all.
 */
function* choosing(
  selection: Selection,
  objects: readonly CachedObject[],
  items: CachedObject[],
  most: number,
  looksForNext = true,
): Steps<number> {
  let cost = 0
  for (let index = 0; index < objects.length; index++) {
    if (items.length === most && !looksForNext) return index
    const object = objects[index] as CachedObject
    cost += selection.cost(object)
    if (selection.matches(object)) {
      if (items.length === most) return index
      items.push(object)
    }
    if (cost < stepCost) continue
    cost = 0
    yield
  }
  return objects.length
}

function pageEndingBefore(source: ListSource, selection: Selection, items: CachedObject[], revision: number, remaining: number): ListPage {
  const last = items.at(-1)
  const prefix = keyPrefix(source, selection)
  const startKey = `${last?.key.slice(prefix.length) ?? ''}\u0000`
  return {
    items,
    resourceVersion: String(revision),
    continueToken: continueToken({ revision, startKey }),
    // With a selector nobody knows how many of the remaining ones match.
    remainingItemCount: selection.isAll ? remaining : undefined,
  }
}

function keyPrefix({ registry }: ListSource, { namespace }: Selection): string {
  const prefix = storagePrefix(registry.definition)
  return registry.definition.scope === 'Namespaced' && namespace !== '' ? `${prefix}${namespace}/` : prefix
}

async function nextPage(source: ListSource, selection: Selection, options: ListOptions, continuation: Continuation): Promise<ListPage> {
  try {
    return await snapshotPage(source, selection, options.limit, continuation)
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error
    const resume = continueToken({ revision: -1, startKey: continuation.startKey })
    throw expiredContinue(resume)
  }
}

/** Reads a page from the store as it was at the revision, while writers go on. */
async function snapshotPage(
  source: ListSource,
  selection: Selection,
  limit: number,
  { revision, startKey }: Continuation,
): Promise<ListPage> {
  const { registry, store, giveWay } = source
  const prefix = keyPrefix(source, selection)
  const end = `${prefix.slice(0, -1)}0`
  const items: CachedObject[] = []
  const most = limit > 0 ? limit : Number.POSITIVE_INFINITY
  let from = prefix + startKey
  let readAt = Math.max(revision, 0)
  // Where little of it is selected, a small page would be asked for again and again: each next one has twice as many, as upstream has it.
  let pageObjects = limit > 0 ? limit + 1 : 0
  for (;;) {
    const page = await store.range({ key: from, end, limit: pageObjects, ...omitEmpty({ revision: readAt }) }).catch((error: unknown) => {
      if (error instanceof FutureRevisionError) throw resourceVersionTooLarge(revision, error.revision)
      if (error instanceof CompactedError && startKey === '') throw expired(`The provided resource version ${revision} is too old`)
      throw error
    })
    if (readAt === 0) readAt = page.revision
    const found = await cachedPage(source, page.kvs)
    await registry.cache.prepare(found)
    // Whether any of the rest is wanted is not known yet.
    const seen = await inSteps(choosing(selection, found, items, most, false), giveWay)
    if (seen < found.length) return pageEndingBefore(source, selection, items, readAt, page.count - seen)
    if (!page.more) return { items, resourceVersion: String(readAt), continueToken: '', remainingItemCount: undefined }
    from = `${page.kvs.at(-1)?.key}\u0000`
    pageObjects = Math.max(pageObjects, Math.min(pageObjects * 2, mostPageObjects))
    await giveWay()
  }
}

async function cachedPage({ registry, giveWay }: ListSource, kvs: readonly KeyValue[]): Promise<CachedObject[]> {
  const { cache, transformer, definition } = registry
  const found: CachedObject[] = []
  for (let index = 0; index < kvs.length; index++) {
    const kv = kvs[index] as KeyValue
    const rest = kv.key.slice(storagePrefix(definition).length)
    const slash = definition.scope === 'Namespaced' ? rest.indexOf('/') : -1
    const { value } = transformer ? await readableValue(kv, transformer) : kv
    const stored = new CachedObject(kv.key, slash < 0 ? '' : rest.slice(0, slash), rest.slice(slash + 1), kv.modRevision, value)
    found.push(cache.shown(stored))
    if (index % objectsBetweenLooks === objectsBetweenLooks - 1) await giveWay()
  }
  return found
}
