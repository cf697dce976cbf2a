/** Which objects a list answers with: all of them from memory, or one page of a snapshot. */

import { quoted } from '#api/meta/check.ts'
import { badRequest, expired } from '#api/meta/status-error.ts'
import { type Continuation, continueToken, parseContinueToken } from '#apiserver/http/continue-token.ts'
import type { ListOptions } from '#apiserver/http/query-options.ts'
import { expiredContinue, resourceVersionTooLarge } from '#apiserver/http/refusals.ts'
import type { Selection } from '#apiserver/http/selection.ts'
import type { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import { storagePrefix } from '#apiserver/registry/storage-key.ts'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { readableValue } from '#apiserver/watch-cache/readable-feed.ts'
import { CompactedError, FutureRevisionError, type Store } from '#store/store.ts'

export type ListPage = { items: CachedObject[]; resourceVersion: string; continueToken: string; remainingItemCount: number | undefined }

export type ListSource = { registry: ResourceRegistry; store: Store }

/** How many seconds a list waits for a revision this server has not seen yet. */
const patienceSeconds = 3

export async function listPage(
  source: ListSource,
  selection: Selection,
  options: ListOptions,
  patience: () => Promise<void>,
): Promise<ListPage> {
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
export async function waitForRevision(
  { registry }: Pick<ListSource, 'registry'>,
  revision: number,
  patience: () => Promise<void>,
): Promise<void> {
  if (shownRevision(registry.cache) >= revision) return
  const timeUp = patience()
  const reached = await Promise.race([registry.cache.reached(revision).then(() => true), timeUp.then(() => false)])
  if (!reached) throw resourceVersionTooLarge(revision, registry.cache.revision)
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

function pageOf(source: ListSource, selection: Selection, objects: CachedObject[], revision: number, limit: number): ListPage {
  const resourceVersion = String(revision)
  if (limit <= 0 || objects.length <= limit) {
    const items = selection.isAll ? objects : objects.filter((object) => selection.matches(object))
    return { items, resourceVersion, continueToken: '', remainingItemCount: undefined }
  }
  const items: CachedObject[] = []
  for (let index = 0; index < objects.length; index++) {
    const object = objects[index] as CachedObject
    if (!selection.matches(object)) continue
    if (items.length === limit) return pageEndingBefore(source, selection, items, revision, objects.length - index)
    items.push(object)
  }
  return { items, resourceVersion, continueToken: '', remainingItemCount: undefined }
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
  const { registry, store } = source
  const prefix = keyPrefix(source, selection)
  const end = `${prefix.slice(0, -1)}0`
  const at = revision > 0 ? { revision } : {}
  const items: CachedObject[] = []
  let from = prefix + startKey
  let readAt = revision
  for (;;) {
    const page = await store.range({ key: from, end, limit: limit > 0 ? limit + 1 : 0, ...at }).catch((error: unknown) => {
      if (error instanceof FutureRevisionError) throw resourceVersionTooLarge(revision, error.revision)
      if (error instanceof CompactedError && startKey === '') throw expired(`The provided resource version ${revision} is too old`)
      throw error
    })
    if (readAt <= 0) readAt = page.revision
    const found: CachedObject[] = []
    for (let index = 0; index < page.kvs.length; index++) {
      const kv = page.kvs[index]
      if (kv === undefined) break
      const rest = kv.key.slice(storagePrefix(registry.definition).length)
      const slash = registry.definition.scope === 'Namespaced' ? rest.indexOf('/') : -1
      const { value } = registry.transformer ? await readableValue(kv, registry.transformer) : kv
      const stored = new CachedObject(kv.key, slash < 0 ? '' : rest.slice(0, slash), rest.slice(slash + 1), kv.modRevision, value)
      found.push(registry.cache.shown(stored))
    }
    await registry.cache.prepare(found)
    for (const [index, object] of found.entries()) {
      // Whether any of the rest is wanted is not known yet.
      if (limit > 0 && items.length === limit) return pageEndingBefore(source, selection, items, readAt, page.count - index)
      if (selection.matches(object)) items.push(object)
    }
    if (!page.more) return { items, resourceVersion: String(readAt), continueToken: '', remainingItemCount: undefined }
    from = `${page.kvs.at(-1)?.key}\u0000`
  }
}
